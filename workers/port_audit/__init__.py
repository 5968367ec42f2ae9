"""The audit of ports: observe, plan, repair."""
