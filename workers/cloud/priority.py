"""The order of callers when the call budget is short."""

from __future__ import annotations

from enum import IntEnum


class Priority(IntEnum):
    """Lower goes first.

    First come load balancers, which many pods wait for and which cost a call or two each. Then pods whose binding has
    begun, then pods that wait for a port, then ports that wait to be free and checks of a target's health, then repair.

    If bindings that have begun did not go before new ones, a thousand pods would all get a target group before any got
    a listener, and the allowance to register targets, which is the smallest, would stay unused meanwhile.
    """

    GROW = 0
    FINISH = 1
    BIND = 2
    UNBIND = 3
    REPAIR = 4
