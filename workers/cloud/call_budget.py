"""The call budget: an allowance of calls that all workers share, by class of action.

The provider throttles an account per class of actions, and that stops everybody who uses the account. So every call
takes a token first, from the shared buckets (workers.stores.buckets) or from `Unlimited`.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from berthmaster.errors import TransientError
from workers.cloud.priority import Priority


class ApiClass(StrEnum):
    """Actions that share one allowance in each region."""

    REGISTER = "register"
    MODIFY = "modify"
    WRITE = "write"
    DESCRIBE = "describe"


class OverBudget(TransientError):  # noqa: N818 - named by what it says, as the cloud errors are
    """No token for this call yet. Nothing was sent; a token is reserved for the caller after `retry_after`."""


class Buckets(Protocol):
    """A shared allowance of calls."""

    def acquire(self, api_class: ApiClass, caller: str, priority: Priority) -> timedelta | None:
        """Take a token. None: go ahead. Otherwise a token is reserved for this caller, and is there after that time."""
        ...

    def drain(self, api_class: ApiClass) -> None:
        """Empty the bucket, because the provider has throttled a call."""
        ...


class Unlimited:
    """No allowance at all: for tests, and for servers that do not throttle."""

    def acquire(self, api_class: ApiClass, caller: str, priority: Priority) -> timedelta | None:  # noqa: ARG002 - interface
        """Go ahead."""
        return None

    def drain(self, api_class: ApiClass) -> None:
        """Nothing to empty."""
