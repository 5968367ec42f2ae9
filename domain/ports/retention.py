"""What becomes of ports whose pod is gone or has ended: given back, kept for the next pod of the name, or taken over.

A port stays only if it was bound and its pod had asked for it, and only for a pod that asks for it again: one that
comes back without the request gives it up, and so does a pool that is being deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from domain.port_pools.port_pool import PoolState
from domain.ports.entry import Entry, EntryState
from domain.ports.holding import EntryId, by_key, complete_ranges
from domain.ports.pod import PodView
from domain.ports.want import Want

MAX_RELABELLED: Final = 10
"""Entries whose tags one call of AWS can change."""


@dataclass(frozen=True)
class RetentionPlan:
    """`inherit`: for the living pod to take over; `retain`: to be kept; `kept`: is kept, nothing to do.

    What is in none of them goes.
    """

    inherit: tuple[Entry, ...] = ()
    retain: tuple[Entry, ...] = ()
    kept: tuple[Entry, ...] = ()

    @property
    def first_heirs(self) -> tuple[Entry, ...]:
        """Those of one pool."""
        return tuple(e for e in self.inherit if e.pool == min(self.inherit).pool)

    @property
    def stay(self) -> frozenset[Entry]:
        return frozenset(self.inherit + self.retain + self.kept)


def plan_retention(
    entries: Iterable[Entry],
    pod: PodView | None,
    lacking: Iterable[Want],
    pools: Mapping[str, PoolState],
    unreadable: bool,
    due: Collection[EntryId] = (),
) -> RetentionPlan:
    """`entries`: those that serve no want of `pod`; `pools`: those that give it ports, or are deleted; `due`: those
    whose targets are to be looked at again.

    A mistake in the annotation costs nothing, so an `unreadable` one leaves what waits for it waiting.
    """
    away = not pod or (pod.ended and pod.opted_in)
    dead = [e for e in entries if _is_retainable(e, pools) and (away or (pod and e.uid != pod.uid))]
    if away or unreadable:
        return _keep_one_per_key(dead, due)
    heirs = _inheritable(dead, lacking)
    opens = tuple(e for e in heirs if pools.get(e.pool) is PoolState.ACTIVE)
    return replace(_keep_one_per_key([e for e in heirs if e not in opens], due), inherit=opens)


def entries_to_relabel(entries: Iterable[Entry], retain: int) -> tuple[Entry, ...]:
    """Bound ones of one pool whose tags say otherwise; an inherited one is tagged when it is bound.

    Some at a time, so that a wait for calls loses little.
    """
    old = [e for e in entries if e.state is EntryState.BOUND and e.retain != retain]
    return tuple(e for e in old if e.pool == old[0].pool)[:MAX_RELABELLED]


def _is_retainable(entry: Entry, pools: Mapping[str, PoolState]) -> bool:
    asked = entry.state is EntryState.RETAINED or (entry.state is EntryState.BOUND and entry.retain > 0)
    return asked and pools.get(entry.pool) is not PoolState.DELETING


def _keep_one_per_key(dead: list[Entry], due: Collection[EntryId]) -> RetentionPlan:
    """One of a key; a time that runs already goes on."""
    chosen = dict[tuple[str, str], Entry]()
    for entry in sorted(dead, key=lambda e: (not _is_timed(e), e)):
        chosen.setdefault((entry.pool, entry.want), entry)
    waiting = tuple(e for e in chosen.values() if _is_timed(e) and e.id not in due)
    return RetentionPlan(retain=tuple(e for e in chosen.values() if e not in waiting), kept=waiting)


def _is_timed(entry: Entry) -> bool:
    return entry.state is EntryState.RETAINED and entry.until > 0


def _inheritable(dead: list[Entry], lacking: Iterable[Want]) -> list[Entry]:
    """A run of ports as a whole or not at all."""
    held = by_key(dead)
    return [e for want in lacking for run in sorted(complete_ranges(want, held), key=list)[:1] for e in run]
