"""Which of the ports that a pod holds serve what it asks for.

A run of ports serves as a whole or not at all, so one that lost a port (to a stranger's listener, or to another pod in
a rebuild) is asked for anew. What is left of it and is published stays meanwhile: players may be connected.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from domain.ports.entry import Entry, EntryState
from domain.ports.want import Want

EntryId = tuple[str, str, int]
ByKey = Mapping[tuple[str, str], Sequence[Entry]]


def by_key(entries: Iterable[Entry]) -> ByKey:
    """(pool, key) -> entries, in their order; what is on its way out serves nothing."""
    found = defaultdict[tuple[str, str], list[Entry]](list)
    for entry in sorted(entries):
        if entry.state is not EntryState.RELEASING:
            found[entry.pool, entry.want].append(entry)
    return found


def entries_to_keep(want: Want, held: ByKey, shown: Collection[EntryId]) -> Sequence[Entry]:
    """The entries to keep for a want: a whole one (the published first), else what is published of a broken run."""
    runs = complete_ranges(want, held)
    if runs:
        return min(runs, key=lambda run: any(e.id not in shown for e in run))
    left = (e for key in want.keys for e in held.get((want.pool, key), ()))
    return [e for e in left if e.id in shown and e.state is EntryState.BOUND]


def complete_ranges(want: Want, held: ByKey) -> list[Sequence[Entry]]:
    """Every set of entries that serves the whole want: on one load balancer, on ports that follow each other."""
    if want.ports == 1:
        return [(entry,) for entry in held.get((want.pool, want.key), ())]
    members = [{(e.lb, e.port): e for e in held.get((want.pool, key), ())} for key in want.keys]
    runs = ([at.get((lb, port + n)) for n, at in enumerate(members)] for lb, port in members[0])
    return [found for run in runs if len(found := [e for e in run if e]) == want.ports]
