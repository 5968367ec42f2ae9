"""Which job has which slot of which pod: one pod pool's state in Redis."""
