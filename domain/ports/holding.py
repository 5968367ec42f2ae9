"""Which of the ports that a pod holds serve what it asks for.

A range of ports serves as a whole or not at all. A range that lost a port, to a foreign listener or to another pod in a
rebuild, is asked for anew. Meanwhile its published ports stay: players may be connected.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from domain.ports.entry import Entry, EntryState
from domain.ports.want import Want

EntryId = tuple[str, str, int]
"""Pool, load balancer, port."""
ByKey = Mapping[tuple[str, str], Sequence[Entry]]
"""(pool, key of a want) -> entries."""


def by_key(entries: Iterable[Entry]) -> ByKey:
    """The entries by pool and key, each in their order, without those that are releasing: they serve nothing."""
    held = defaultdict[tuple[str, str], list[Entry]](list)
    for entry in sorted(entries):
        if entry.state is not EntryState.RELEASING:
            held[entry.pool, entry.want].append(entry)
    return held


def entries_to_keep(want: Want, held: ByKey, published: Collection[EntryId]) -> Sequence[Entry]:
    """A complete range for the want, a published one first; without one, what a broken range has published."""
    ranges = complete_ranges(want, held)
    if ranges:
        return min(ranges, key=lambda entries: any(e.id not in published for e in entries))
    rest = (e for key in want.keys for e in held.get((want.pool, key), ()))
    return [e for e in rest if e.id in published and e.state is EntryState.BOUND]


def complete_ranges(want: Want, held: ByKey) -> list[Sequence[Entry]]:
    """Every set of entries that serves the whole want: on one load balancer, on ports that follow each other."""
    if want.ports == 1:
        return [(entry,) for entry in held.get((want.pool, want.key), ())]
    members = [{(e.lb, e.port): e for e in held.get((want.pool, key), ())} for key in want.keys]
    rows = ([by_place.get((lb, port + n)) for n, by_place in enumerate(members)] for lb, port in members[0])
    ranges = ([entry for entry in row if entry] for row in rows)
    return [entries for entries in ranges if len(entries) == want.ports]
