"""What a set of claims does next: one step from one look, whoever else does the same (rules `intent`, `pre`).

A claim that shall go is recorded first, in the version that was seen, by compare-and-set of the set's status; and only
what is recorded is deleted, only in that version. So an entry whose claim has changed, or is gone, can do no harm any
more, and only a record without living entries is replaced. An entry that shall not be carried out after all is made
dead: its claim is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count, islice
from typing import Final

from domain.claim_sets.scale_in import SetMember, first_to_go

MOST: Final = 50
"""Claims a step: each is one call, and what was seen grows old."""


class Do(StrEnum):
    CREATE = "create"  # claims of these names
    RECORD = "record"  # that these are removed, and no others
    REMOVE = "remove"  # these, which are recorded, as they are recorded
    SPARE = "spare"  # writes these, which are recorded, so that nobody removes them
    REST = "rest"


@dataclass(frozen=True)
class SetStep:
    """`names` of claims."""

    do: Do
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class SetView:
    """`members`: also those that are being deleted. `recorded`: name -> version. `taken`: names that others have.

    The set was read before its members.
    """

    name: str
    wanted: int
    members: tuple[SetMember, ...]
    recorded: Mapping[str, str] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()

    @property
    def live(self) -> tuple[SetMember, ...]:
        return tuple(member for member in self.members if not member.deleting)

    @property
    def surplus(self) -> int:
        return len(self.live) - self.wanted

    @property
    def old(self) -> tuple[SetMember, ...]:
        return tuple(member for member in self.live if member.old)

    @property
    def booting(self) -> tuple[SetMember, ...]:
        """Those that are not old and do not serve. One by one: none is replaced while there is one of them."""
        return tuple(member for member in self.live if not member.old and not member.serves)


def set_step(seen: SetView) -> SetStep:
    go = {member.name for member in to_go(seen)}
    alive = {member.name for member in seen.live if seen.recorded.get(member.name) == member.version}
    if alive - go:
        return SetStep(Do.SPARE, tuple(sorted(alive - go)))
    if alive or go:
        return SetStep(Do.REMOVE if alive else Do.RECORD, tuple(sorted(alive or go)))
    if more := _more(seen):
        return SetStep(Do.CREATE, tuple(islice(_free_names(seen), min(more, MOST))))
    return SetStep(Do.REST)


def to_go(seen: SetView) -> tuple[SetMember, ...]:
    """Who is too many. While there are old ones, one more than wanted is none too many until it serves."""
    if seen.surplus > 1 or (seen.surplus == 1 and not seen.old):
        return first_to_go(seen.live)[: min(seen.surplus - bool(seen.old), MOST)]
    if seen.surplus < 1:
        return ()
    one_too_many = first_to_go(seen.booting) if len(seen.booting) > 1 else ()
    return (replaceable(seen) or one_too_many)[:1]


def replaceable(seen: SetView) -> tuple[SetMember, ...]:
    """Old ones that may go now, if there is another in their place. One without a pod serves nobody."""
    going = first_to_go(seen.old)
    idle = tuple(member for member in going if not member.has_pod)
    return idle or (() if seen.booting else going)


def _more(seen: SetView) -> int:
    return -seen.surplus if seen.surplus < 0 else int(seen.surplus == 0 and bool(replaceable(seen)))


def _free_names(seen: SetView) -> Iterator[str]:
    """The lowest numbers: whoever is late with a decision finds that they exist."""
    used = {member.name for member in seen.members} | seen.taken
    return (name for number in count() if (name := f"{seen.name}-{number}") not in used)
