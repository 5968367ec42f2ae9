"""What publisher and workers exchange through Redis, and what other services read."""
