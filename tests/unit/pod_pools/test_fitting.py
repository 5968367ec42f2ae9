"""Which jobs find no slot, against every assignment tried."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.pod_pools.fitting import unplaced
from domain.pod_pools.signals import Accepts

PLAN: Accepts = frozenset({"plan"})
BOTH: Accepts = frozenset({"plan", "build"})


@pytest.mark.row("SL-02")
@pytest.mark.parametrize(
    ("jobs", "slots", "short"),
    [
        ({}, {}, {}),
        ({"plan": 2}, {}, {"plan": 2}),
        ({"apply": 1}, {PLAN: 2}, {"apply": 1}),
        ({"apply": 1, "plan": 2}, {None: 1, PLAN: 2}, {}),
        ({"plan": 2, "apply": 1}, {None: 1, PLAN: 2}, {}),
        ({"plan": 3, "apply": 1}, {None: 1, PLAN: 2}, {"apply": 1}),
        ({"plan": 1, "build": 1}, {PLAN: 1, BOTH: 1}, {}),
        ({"build,plan": 1}, {PLAN: 1, BOTH: 1}, {}),
        ({"apply,plan": 1}, {PLAN: 1, BOTH: 1}, {"apply,plan": 1}),
    ],
)
def test_picky_slots_are_filled_first(jobs: dict[str, int], slots: dict[Accepts, int], short: dict[str, int]) -> None:
    assert unplaced(jobs, slots) == short


def most(jobs: tuple[str, ...], slots: tuple[Accepts, ...]) -> int:
    """The size of the best assignment, by trying all."""
    if not jobs:
        return 0
    skipped = most(jobs[1:], slots)
    taken = (
        1 + most(jobs[1:], slots[:n] + slots[n + 1 :])
        for n, accepts in enumerate(slots)
        if accepts is None or jobs[0] in accepts
    )
    return max([skipped, *taken])


@pytest.mark.row("SL-02")
@given(
    st.dictionaries(st.sampled_from(["plan", "apply", "build"]), st.integers(0, 3)),
    st.dictionaries(st.sampled_from([None, PLAN, BOTH, frozenset({"build"})]), st.integers(0, 2)),
)
def test_as_many_are_placed_as_can_be(jobs: Mapping[str, int], slots: Mapping[Accepts, int]) -> None:
    listed = tuple(kind for kind, count in jobs.items() for _ in range(count))
    free = tuple(accepts for accepts, count in slots.items() for _ in range(count))
    assert sum(unplaced(jobs, slots).values()) == len(listed) - most(listed, free)
