"""What the workers keep in Redis."""
