"""A strict AWS for one machine: moto's Elastic Load Balancing behind the rules that a Network Load Balancer really has.

moto accepts two listeners on one port, any number of listeners, and any text as an address. A test against plain moto
proves nothing. The subclasses here add what moto lacks: rules, quotas, states that take time, throttling, and faults
that a test switches on.
"""
