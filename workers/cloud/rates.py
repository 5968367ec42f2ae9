"""The words of the call budget: which calls share an allowance.

AWS throttles an account per group of actions, and a throttled account throttles everybody in it. So every call asks
for a token first, of a budget that all workers share (workers.stores.buckets), or of none at all (`Unlimited`).
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from workers.cloud.priority import Priority


class ApiClass(StrEnum):
    """Actions that share one allowance, in each region."""

    REGISTER = "register"
    MODIFY = "modify"
    WRITE = "write"
    DESCRIBE = "describe"


class Buckets(Protocol):
    """A shared allowance of calls."""

    def acquire(self, api_class: ApiClass, caller: str, priority: Priority) -> timedelta | None:
        """None: go. Else a token is reserved for this caller: come back after so long, it is there then."""
        ...

    def drain(self, api_class: ApiClass) -> None:
        """AWS has throttled: nobody has tokens now."""
        ...


class Unlimited:
    """No allowance at all: for tests, and for servers that do not throttle."""

    def acquire(self, api_class: ApiClass, caller: str, priority: Priority) -> timedelta | None:  # noqa: ARG002 - interface
        return None

    def drain(self, api_class: ApiClass) -> None:
        pass
