"""Mutexes of load balancers: only one caller at a time creates or deletes listeners on one.

The provider answers overlapping changes of a load balancer with refusals and throttling. Nothing else depends on the
mutex: the ledger decides what two callers may do to one port.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol

from berthmaster.errors import TransientError


class MutexHeld(TransientError):  # noqa: N818 - an ordinary wait
    """Another call is changing the load balancer. Nothing was sent."""


class LoadBalancerMutexes(Protocol):
    """One mutex a load balancer."""

    def acquire(self, load_balancer_arn: str, longest: timedelta) -> str | None:
        """A token to release the mutex with, None while another caller holds it. It ends by itself after `longest`."""
        ...

    def release(self, load_balancer_arn: str, token: str) -> None:
        """Release the mutex, unless it has ended and another caller holds it now."""
        ...


class NoMutexes:
    """Every caller goes at once: for tests, and for callers that are alone."""

    def acquire(self, load_balancer_arn: str, longest: timedelta) -> str:  # noqa: ARG002 - interface
        """A token, always."""
        return "alone"

    def release(self, load_balancer_arn: str, token: str) -> None:
        """Nothing to release."""
