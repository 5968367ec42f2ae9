"""What the fleet asks of a cloud's load balancers: the interface here, each provider in a package below."""
