"""The scale-up of port pools: requested by many, carried out once an epoch."""
