"""Port pools: their spec and status, and the decisions about their load balancers."""
