"""Connections to the Redis of the state, and the scripts that run there."""
