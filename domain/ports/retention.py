"""Decides what becomes of ports whose pod is gone or has ended: released, retained for the next pod, or inherited.

A port is retained only if it was bound and its pod asked for that. It goes only to a pod of the same name that asks for
it again: a pod that comes back without the request gives it up, and so does a pool that is being deleted.
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
"""Entries whose tags one call of AWS can change: two ARNs each."""


@dataclass(frozen=True)
class RetentionPlan:
    """`inherit`: the living pod takes over; `retain`: is to be retained; `kept`: is retained already.

    Entries in none of them are released.
    """

    inherit: tuple[Entry, ...] = ()
    retain: tuple[Entry, ...] = ()
    kept: tuple[Entry, ...] = ()

    @property
    def first_to_inherit(self) -> tuple[Entry, ...]:
        """The entries of one pool."""
        return tuple(e for e in self.inherit if e.pool == min(self.inherit).pool)

    @property
    def staying(self) -> frozenset[Entry]:
        """The entries that are not to be released."""
        return frozenset(self.inherit + self.retain + self.kept)


def plan_retention(
    entries: Iterable[Entry],
    pod: PodView | None,
    unmet: Iterable[Want],
    pools: Mapping[str, PoolState],
    unreadable: bool,
    to_compare: Collection[EntryId] = (),
) -> RetentionPlan:
    """Plan for `entries` that serve no want of `pod`.

    `unmet`: wants of the pod without ports. `pools`: those that give it ports, or are being deleted. `to_compare`:
    entries whose targets must be compared. While the annotation is `unreadable`, retained
    entries go on waiting: a mistake in it costs nothing.
    """
    gone = not pod or (pod.ended and pod.opted_in)
    orphaned = [e for e in entries if _is_retainable(e, pools) and (gone or (pod and e.uid != pod.uid))]
    if gone or unreadable:
        return _keep_one_per_key(orphaned, to_compare)
    inheritable = _inheritable(orphaned, unmet)
    inherit = tuple(e for e in inheritable if pools.get(e.pool) is PoolState.ACTIVE)
    return replace(_keep_one_per_key([e for e in inheritable if e not in inherit], to_compare), inherit=inherit)


def entries_to_relabel(entries: Iterable[Entry], retain: int) -> tuple[Entry, ...]:
    """Bound entries of one pool whose tags say another time. An inherited entry is tagged when it is bound.

    Some at a time, so that a wait for the call budget loses little.
    """
    outdated = [e for e in entries if e.state is EntryState.BOUND and e.retain != retain]
    return tuple(e for e in outdated if e.pool == outdated[0].pool)[:MAX_RELABELLED]


def _is_retainable(entry: Entry, pools: Mapping[str, PoolState]) -> bool:
    wanted = entry.state is EntryState.RETAINED or (entry.state is EntryState.BOUND and entry.retain > 0)
    return wanted and pools.get(entry.pool) is not PoolState.DELETING


def _keep_one_per_key(orphaned: list[Entry], to_compare: Collection[EntryId]) -> RetentionPlan:
    """Keep one entry a key, first those whose time runs already."""
    chosen = dict[tuple[str, str], Entry]()
    for entry in sorted(orphaned, key=lambda e: (not _is_timed(e), e)):
        chosen.setdefault((entry.pool, entry.want), entry)
    kept = tuple(e for e in chosen.values() if _is_timed(e) and e.id not in to_compare)
    return RetentionPlan(retain=tuple(e for e in chosen.values() if e not in kept), kept=kept)


def _is_timed(entry: Entry) -> bool:
    return entry.state is EntryState.RETAINED and entry.until > 0


def _inheritable(orphaned: list[Entry], unmet: Iterable[Want]) -> list[Entry]:
    """A complete range for each want that has one."""
    held = by_key(orphaned)
    ranges = (sorted(complete_ranges(want, held), key=list)[:1] for want in unmet)
    return [entry for first in ranges for entries in first for entry in entries]
