"""Whose calls go first when the call budget is short."""

from __future__ import annotations

from enum import IntEnum


class Priority(IntEnum):
    """Lower goes first: a load balancer that many pods wait for (a call or two each), then a pod whose binding has
    begun, then one that waits for its port, then a port that waits to be free, or a look at the health of a target,
    then repair.

    Were those that have begun not first, a thousand pods would all get a target group before any had a listener, and
    the calls that register targets, of which fewest are permitted, would stand idle meanwhile.
    """

    GROW = 0
    FINISH = 1
    BIND = 2
    UNBIND = 3
    REPAIR = 4
