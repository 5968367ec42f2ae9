"""Claims: whole warm pods, bound, kept, moved and given back. Pure."""
