"""How a port is bound: a listener of its own for each pod, or a precreated one."""
