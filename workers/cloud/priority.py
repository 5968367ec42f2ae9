"""Whose calls go first when the call budget is short."""

from __future__ import annotations

from enum import IntEnum


class Priority(IntEnum):
    """Lower goes first: a load balancer that many pods wait for (a call or two each), then a pod that waits for its
    port, then a port that waits to be free, then repair.
    """

    GROW = 0
    BIND = 1
    UNBIND = 2
    REPAIR = 3
