"""Matches jobs with slots: each slot takes one job of the kinds that it accepts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from domain.pod_pools.signals import Accepts


def unplaced(jobs: Mapping[str, int], slots: Mapping[Accepts, int]) -> dict[str, int]:
    """Count the jobs of each kind that a best assignment leaves without a slot. Kinds with none are left out.

    Kinds are served in their order: pass the most urgent first.
    """
    left = {accepts: count for accepts, count in slots.items() if count > 0}
    given: dict[tuple[str, Accepts], int] = {}
    short: dict[str, int] = {}
    for kind, count in jobs.items():
        for position in range(count):
            if not _place(kind, left, given, frozenset()):
                short[kind] = count - position
                break
    return short


def unfit(jobs: Mapping[str, int], slots: Iterable[Accepts]) -> dict[str, int]:
    """Count the jobs of each kind that none of these slots accepts, however many of them there were."""
    kinds = set(slots)
    return {kind: count for kind, count in jobs.items() if count and not any(takes(accepts, kind) for accepts in kinds)}


def takes(accepts: Accepts, kind: str) -> bool:
    """Tell whether a slot takes a job. `kind` joins the job's phases by commas: all of them run in one slot."""
    return accepts is None or set(kind.split(",")) <= accepts


def _place(
    kind: str, left: dict[Accepts, int], given: dict[tuple[str, Accepts], int], tried: frozenset[Accepts]
) -> bool:
    """Place one more job: in a free slot, the pickiest first, else in the slot of a job that can move."""
    fitting = sorted((accepts for accepts in _slots(left, given) - tried if takes(accepts, kind)), key=_pickiness)
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
    """Move a job of another kind out of such a slot, and this job in. True when that works."""
    others = sorted(other for (other, slot), count in given.items() if slot == accepts and other != kind and count > 0)
    for other in others:
        if _place(other, left, given, tried):
            given[other, accepts] -= 1
            given[kind, accepts] = given.get((kind, accepts), 0) + 1
            return True
    return False


def _slots(left: Mapping[Accepts, int], given: Mapping[tuple[str, Accepts], int]) -> set[Accepts]:
    return {*left, *(accepts for (_, accepts), count in given.items() if count > 0)}


def _pickiness(accepts: Accepts) -> tuple[bool, int, list[str]]:
    return accepts is None, len(accepts or ()), sorted(accepts or ())
