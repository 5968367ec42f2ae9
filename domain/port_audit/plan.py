"""The plan of a repair: the differences between desired and actual state, by what their remedy does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from domain.port_audit.difference import Difference, Remedy
from domain.port_audit.drift import Comparison, differences

Update: TypeAlias = Literal[Remedy.RETAG, Remedy.COMPARE, Remedy.RECHECK, Remedy.RUN]
"""Remedies that correct what exists, or let a run do so."""
Create: TypeAlias = Literal[Remedy.REBIND, Remedy.RESTOCK, Remedy.ADOPT, Remedy.REBUILD]
"""Remedies that create what is missing in the cloud or the ledger."""
Delete: TypeAlias = Literal[Remedy.DEREGISTER, Remedy.REMOVE, Remedy.DISCARD, Remedy.CLOSE]
"""Remedies that delete what nobody needs."""


@dataclass(frozen=True)
class RepairPlan:
    """What to update, create and delete, in that order: a listener's tags are restored before it is made again.

    Somebody must decide about `undecided`.
    """

    update: tuple[Difference, ...] = ()
    create: tuple[Difference, ...] = ()
    delete: tuple[Difference, ...] = ()
    undecided: tuple[Difference, ...] = ()

    def __iter__(self) -> Iterator[Difference]:
        yield from (*self.update, *self.create, *self.delete, *self.undecided)


def plan(comparison: Comparison) -> RepairPlan:
    """Compare desired with actual state, and sort the differences by what mends them."""
    all_differences = differences(comparison)
    update, create, delete, undecided = (
        tuple(difference for difference in all_differences if difference.remedy in remedies)
        for remedies in (get_args(Update), get_args(Create), get_args(Delete), (Remedy.NONE,))
    )
    return RepairPlan(update, create, delete, undecided)
