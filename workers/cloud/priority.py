"""Whose calls go first when the call budget is short."""

from __future__ import annotations

from enum import IntEnum


class Priority(IntEnum):
    """Lower goes first: a pod that waits for its port, then a port that waits to be free, then repair."""

    BIND = 0
    UNBIND = 1
    REPAIR = 2
