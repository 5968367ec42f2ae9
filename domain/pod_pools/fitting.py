"""How many jobs find no slot, when each slot takes one job of the kinds that it accepts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from domain.pod_pools.signals import Accepts


def unplaced(jobs: Mapping[str, int], slots: Mapping[Accepts, int]) -> dict[str, int]:
    """Kind -> jobs left over by a best assignment, kinds with none left out.

    Kinds that come first are served first: give the more urgent ones first.
    """
    left = {accepts: count for accepts, count in slots.items() if count > 0}
    given: dict[tuple[str, Accepts], int] = {}
    short: dict[str, int] = {}
    for kind, count in jobs.items():
        for n in range(count):
            if not _place(kind, left, given, frozenset()):
                short[kind] = count - n
                break
    return short


def unfit(jobs: Mapping[str, int], slots: Iterable[Accepts]) -> dict[str, int]:
    """Kind -> jobs that no such slot could ever take, however many there are."""
    kinds = set(slots)
    return {kind: n for kind, n in jobs.items() if n and not any(takes(accepts, kind) for accepts in kinds)}


def takes(accepts: Accepts, kind: str) -> bool:
    """Whether a slot takes a job; `kind` is its phases, joined by commas: all of them run in one slot."""
    return accepts is None or set(kind.split(",")) <= accepts


def _place(
    kind: str, left: dict[Accepts, int], given: dict[tuple[str, Accepts], int], tried: frozenset[Accepts]
) -> bool:
    """One more job of `kind`: in a free slot, the pickiest first, else in that of a job which can move."""
    fitting = sorted((a for a in _slots(left, given) - tried if takes(a, kind)), key=_pickiness)
    for accepts in fitting:
        if left.get(accepts, 0) > 0:
            left[accepts] -= 1
            given[kind, accepts] = given.get((kind, accepts), 0) + 1
            return True
    return any(_take_over(kind, accepts, left, given, tried | {accepts}) for accepts in fitting)


def _take_over(
    kind: str,
    accepts: Accepts,
    left: dict[Accepts, int],
    given: dict[tuple[str, Accepts], int],
    tried: frozenset[Accepts],
) -> bool:
    """True when a job of another kind moves out of such a slot and this one moves in."""
    for other, held in sorted((k, a) for k, a in given if a == accepts and k != kind and given[k, a] > 0):
        if _place(other, left, given, tried):
            given[other, held] -= 1
            given[kind, accepts] = given.get((kind, accepts), 0) + 1
            return True
    return False


def _slots(left: Mapping[Accepts, int], given: Mapping[tuple[str, Accepts], int]) -> set[Accepts]:
    return {*left, *(accepts for (_, accepts), count in given.items() if count > 0)}


def _pickiness(accepts: Accepts) -> tuple[bool, int, list[str]]:
    return accepts is None, len(accepts or ()), sorted(accepts or ())
