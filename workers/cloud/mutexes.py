"""Turns: who may create or delete listeners of a load balancer now.

AWS answers changes of one load balancer that overlap with refusals and throttling. Nothing but that depends on a turn:
what two callers may do to one port is decided by the ledger.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol

from berthmaster.errors import TransientError


class TurnTaken(TransientError):  # noqa: N818 - an ordinary wait
    """Another call is changing the load balancer. Nothing was sent."""


class Turns(Protocol):
    """One holder at a time of each load balancer."""

    def enter(self, load_balancer_arn: str, longest: timedelta) -> str:
        """A token to leave with, or '' while another has the turn. It ends by itself after `longest`."""
        ...

    def leave(self, load_balancer_arn: str, token: str) -> None:
        """Ends the turn, unless it has ended and another has it now."""
        ...


class Unserialised:
    """No turns at all: for tests, and for callers that are alone."""

    def enter(self, load_balancer_arn: str, longest: timedelta) -> str:  # noqa: ARG002 - interface
        return "alone"

    def leave(self, load_balancer_arn: str, token: str) -> None:
        pass
