"""Pools on one load balancer: who may give ports, and why the other must not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from domain.port_pools.load_balancer_spec import AutoCreate
from domain.port_pools.overlap import Neighbour, conflict
from tests.support.ports.builders import pool_spec

Ports = tuple[int, int]


def pool(name: str, ports: Ports = (30000, 30999), lbs: str = "arn:x", born: str = "", **changes: Any) -> Neighbour:
    """On the named load balancers, born in the order of the names, by itself."""
    created = frozenset(changes.pop("created", ()))
    first, last = ports
    declared: dict[str, Any] = {"start_port": first, "end_port": last, "load_balancers": tuple(lbs.split())}
    if lbs:
        declared["auto_create"] = AutoCreate()
    return Neighbour(name, born or f"2026-01-01T00:00:0{ord(name[0]) % 10}Z", pool_spec(**declared | changes), created)


@pytest.mark.row("PP-24")
def test_of_two_pools_that_overlap_on_a_load_balancer_the_younger_gives_way() -> None:
    old, young = pool("old", born="2026-01-01T00:00:00Z"), pool("lobby", (30999, 31005), born="2026-01-02T00:00:00Z")
    assert conflict(old, [young]) is None
    assert conflict(young, [old]) == (
        "PortPool old uses load balancer arn:x, too: its ports 30000 to 30999 overlap with 30999 to 31005"
    )


@pytest.mark.row("PP-24")
def test_of_two_of_one_age_the_later_name_gives_way() -> None:
    a, b = pool("a", born="now"), pool("b", born="now")
    assert (conflict(a, [b]), bool(conflict(b, [a]))) == (None, True)


@pytest.mark.row("PP-24")
@pytest.mark.parametrize("other", [pool("b", (31000, 31999)), pool("b", lbs="arn:y")])
def test_disjoint_ranges_or_load_balancers_are_no_conflict(other: Neighbour) -> None:
    assert conflict(other, [pool("a")]) is None


@pytest.mark.row("PP-24")
def test_a_load_balancer_that_one_pool_created_and_another_names_is_shared() -> None:
    maker, guest = pool("maker", lbs="", created=["arn:x"], born="1"), pool("guest", born="2")
    assert conflict(maker, [guest]) is None
    assert str(conflict(guest, [maker])).startswith("PortPool maker uses load balancer arn:x, too")


@pytest.mark.row("PP-25")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"listener_quota": 30}, "its listenerQuota is unset, not 30"),
        ({"segment_length": 4}, "its segmentLength is 1, not 4"),
    ],
)
def test_quotas_and_segments_must_be_the_same(changes: dict[str, Any], words: str) -> None:
    assert str(conflict(pool("b", (31000, 31999), **changes), [pool("a")])).endswith(words)


@pytest.mark.row("PP-25")
def test_a_quota_that_only_the_older_pool_has_is_a_difference() -> None:
    assert str(conflict(pool("b", (31000, 31999)), [pool("a", listener_quota=30)])).endswith(
        "its listenerQuota is 30, not unset"
    )


pools = st.builds(
    lambda name, first, width, lbs, born, mine: pool(
        name, (first, first + width), " ".join(sorted(lbs)), born, created=sorted(mine)
    ),
    st.sampled_from("abc"),
    st.integers(30000, 30010),
    st.integers(1, 5),
    st.sets(st.sampled_from(["arn:x", "arn:y", "arn:z"])),
    st.sampled_from("12"),
    st.sets(st.sampled_from(["arn:z"])),
)


@pytest.mark.row("PP-24")
@given(pools, pools)
def test_of_any_two_pools_that_overlap_exactly_one_gives_way(a: Neighbour, b: Neighbour) -> None:
    assume(a.name != b.name)
    shared = a.load_balancers & b.load_balancers
    overlap = a.spec.start_port <= b.spec.end_port and b.spec.start_port <= a.spec.end_port
    assert (bool(conflict(a, [b])) + bool(conflict(b, [a]))) == bool(shared and overlap)
