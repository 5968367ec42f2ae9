"""Decide what a claim set does next, safely also where several workers decide (rules `intent`, `pre`).

The set's status records which claims are removed, each with the version that was observed, by compare-and-set. Only a
recorded claim is deleted, and only in the recorded version. So an entry does no harm once its claim has changed or is
gone. A record is replaced only when no claim has its recorded version any more. To keep a recorded claim after all,
the set writes the claim, which changes its version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count, islice
from typing import Final

from domain.claim_sets.scale_in import SetMember, first_to_go

MOST: Final = 50
"""Claims in one step. Each costs a call, and the observation ages meanwhile."""


class SetAction(StrEnum):
    """What a step of a claim set does."""

    CREATE = "create"  # create claims of these names
    RECORD = "record"  # record that these claims are removed, and no others
    REMOVE = "remove"  # delete these recorded claims in their recorded versions
    SPARE = "spare"  # write these recorded claims, so that no worker deletes them
    REST = "rest"  # nothing is left to do


@dataclass(frozen=True)
class SetStep:
    """An action and the names of its claims."""

    action: SetAction
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class SetView:
    """The part of an observation that decides. The set was read before its members.

    Attributes:
        wanted: how many claims the set shall have.
        members: the claims of the set, including those that are being deleted.
        recorded: the claims that the set's status says are removed, name -> version.
        taken: names of claims that the set does not own.

    """

    name: str
    wanted: int
    members: tuple[SetMember, ...]
    recorded: Mapping[str, str] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()

    @property
    def live(self) -> tuple[SetMember, ...]:
        """The members that are not being deleted."""
        return tuple(member for member in self.members if not member.deleting)

    @property
    def surplus(self) -> int:
        """How many live members there are beyond `wanted`; negative if some are missing."""
        return len(self.live) - self.wanted

    @property
    def old(self) -> tuple[SetMember, ...]:
        """The live members that a rollout replaces."""
        return tuple(member for member in self.live if member.old)

    @property
    def booting(self) -> tuple[SetMember, ...]:
        """The live members that are not old and do not serve yet. While there is one, a rollout replaces no member."""
        return tuple(member for member in self.live if not member.old and not member.serves)


def set_step(observed: SetView) -> SetStep:
    """Return the one step that the set takes next."""
    go = {member.name for member in to_go(observed)}
    alive = {member.name for member in observed.live if observed.recorded.get(member.name) == member.version}
    if alive - go:
        return SetStep(SetAction.SPARE, tuple(sorted(alive - go)))
    if alive or go:
        return SetStep(SetAction.REMOVE if alive else SetAction.RECORD, tuple(sorted(alive or go)))
    if more := _more(observed):
        return SetStep(SetAction.CREATE, tuple(islice(_free_names(observed), min(more, MOST))))
    return SetStep(SetAction.REST)


def to_go(observed: SetView) -> tuple[SetMember, ...]:
    """Return the members to remove. During a rollout one surge claim is tolerated until it is ready."""
    if observed.surplus > 1 or (observed.surplus == 1 and not observed.old):
        return first_to_go(observed.live)[: min(observed.surplus - bool(observed.old), MOST)]
    if observed.surplus < 1:
        return ()
    excess = first_to_go(observed.booting) if len(observed.booting) > 1 else ()
    return (replaceable(observed) or excess)[:1]


def replaceable(observed: SetView) -> tuple[SetMember, ...]:
    """Return the old members that may go now, once there is a claim in their place.

    A member without a pod serves nobody, so it goes first and need not wait.
    """
    going = first_to_go(observed.old)
    idle = tuple(member for member in going if not member.has_pod)
    return idle or (() if observed.booting else going)


def _more(observed: SetView) -> int:
    return -observed.surplus if observed.surplus < 0 else int(observed.surplus == 0 and bool(replaceable(observed)))


def _free_names(observed: SetView) -> Iterator[str]:
    """Yield the lowest free names: a worker whose decision is late finds that its names exist already."""
    used = {member.name for member in observed.members} | observed.taken
    return (name for number in count() if (name := f"{observed.name}-{number}") not in used)
