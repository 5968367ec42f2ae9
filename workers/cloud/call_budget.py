"""The call budget: an allowance of calls that all workers share, by class of action.

The provider throttles an account per class of actions, and that stops everybody who uses the account. So every call
takes a token first, from the shared buckets (workers.stores.buckets).
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
    """No token for this call yet. Nothing was sent; a token is reserved for the caller after `retry_after`.

    `provider` is the provider's title.
    """

    def __init__(self, message: str, retry_after: timedelta, provider: str = "cloud") -> None:
        super().__init__(message, retry_after)
        self.provider = provider


class CallRate(Protocol):
    """An allowance: calls a second in the long run, and calls that may go at once after a quiet time."""

    @property
    def per_second(self) -> float: ...  # noqa: D102 - see the class

    @property
    def burst(self) -> int: ...  # noqa: D102 - see the class


class CallRates(Protocol):
    """The allowances of a provider in each region."""

    def of(self, api_class: ApiClass) -> CallRate:
        """The allowance of one class of actions."""
        ...


class Buckets(Protocol):
    """A shared allowance of calls."""

    def acquire(self, api_class: ApiClass, caller: str, priority: Priority) -> timedelta | None:
        """Take a token. None: go ahead. Otherwise a token is reserved for this caller, and is there after that time."""
        ...

    def drain(self, api_class: ApiClass) -> None:
        """Empty the bucket, because the provider has throttled a call."""
        ...
