"""Decides what a run of a PortPool does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PortPoolFacts:
    """What the decision depends on.

    `followed`: the object exists, and its deletion (if any) still waits for our finalizer. `problem` is what is wrong
    with the spec, None if nothing is. `configured`: there is an accepted spec, this one or an earlier one.
    """

    followed: bool
    deleting: bool = False
    problem: str | None = None
    configured: bool = False


@dataclass(frozen=True)
class ForgetPool:
    """Nothing of ours depends on the object any more."""


@dataclass(frozen=True)
class RejectSpec:
    """The spec is invalid. The ledger stays as it is: a mistake in the spec costs no bound port."""

    problem: str


@dataclass(frozen=True)
class MaintainPool:
    """Bring ledger and load balancers to the spec."""


@dataclass(frozen=True)
class DrainPool:
    """Give no new ports, then remove what is ours once no pod holds a port."""


@dataclass(frozen=True)
class ReleasePool:
    """Let the object go: it never had a valid spec, so nothing of ours exists."""


PortPoolStep = ForgetPool | RejectSpec | MaintainPool | DrainPool | ReleasePool


def next_step(facts: PortPoolFacts) -> PortPoolStep:
    """What the run does."""
    if not facts.followed:
        return ForgetPool()
    if facts.deleting:
        return DrainPool() if facts.configured else ReleasePool()
    return RejectSpec(facts.problem) if facts.problem else MaintainPool()
