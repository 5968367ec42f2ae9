"""A strict AWS for one machine: moto's Elastic Load Balancing behind the rules that a Network Load Balancer really has.

moto takes two listeners on one port, any number of listeners, and any text as an address. Whoever is tested against it
is not tested at all, so what moto lacks is added here in subclasses of it: rules, quotas, states that take time,
throttling, and faults that a test switches on.
"""
