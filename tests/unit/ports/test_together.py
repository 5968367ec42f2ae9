"""The same port number in several pools."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.kubernetes.names import PORTS_RETAIN, SAME_PORT
from domain.ports.request import parse_ports
from domain.ports.same_port import (
    common_ports,
    first_ports,
    free_ports_mask,
    pools_to_grow,
    ports_mask,
    same_port_groups,
)
from tests.support.ports.builders import pool_spec
from tests.support.ports.pure_run import PurePool, PureWorld

TRUE = {SAME_PORT: "true"}
BOTH = "game=7777/UDP@arena+lobby"


def world(ports: str = BOTH, **pools: PurePool) -> PureWorld:
    made = PureWorld(pools=dict(pools) or {"arena": PurePool(), "lobby": PurePool()})
    made.pod("a", ports, notes=TRUE)
    return made


def places(made: PureWorld, name: str = "a") -> list[tuple[str, int]]:
    return [(e.pool, e.port) for e in made.held(name)]


def taken(made: PureWorld, pool: str, *ports: int) -> None:
    made.known_foreign |= {(pool, f"bm-{pool}-0", port) for port in ports}


@pytest.mark.row("AL-10")
def test_all_pools_give_the_lowest_number_that_they_have_in_common() -> None:
    made = world(arena=PurePool(room=6), lobby=PurePool(room=6))
    taken(made, "arena", 30000, 30003)
    taken(made, "lobby", 30001, 30005)
    made.run()
    assert places(made) == [("arena", 30002), ("lobby", 30002)]
    assert made.shown().state == "Bound"


@pytest.mark.row("AL-10", "AL-12")
def test_without_a_common_number_nothing_is_taken_and_the_pod_waits_in_every_pool() -> None:
    made = world()
    taken(made, "arena", 30000)
    taken(made, "lobby", 30001, 30002)
    made.run()
    assert (places(made), made.shown().state) == ([], "NoPortAvailable")
    assert made.waiting["a"] == {"arena", "lobby"}


@pytest.mark.row("AL-10", "AL-15")
def test_a_pool_that_is_added_gives_the_number_that_the_pod_has() -> None:
    made = world("game=7777/UDP@arena")
    taken(made, "arena", 30000)
    made.run()
    made.pod("a", BOTH, notes=TRUE)
    made.run()
    assert places(made) == [("arena", 30001), ("lobby", 30001)]


@pytest.mark.row("AL-10", "AL-15", "AL-14")
def test_a_port_that_is_shown_stays_though_an_added_pool_lacks_its_number() -> None:
    made = world("game=7777/UDP@arena")
    made.run()
    taken(made, "lobby", 30000)
    made.pod("a", BOTH, notes=TRUE)
    made.run()
    assert (places(made), made.shown().state) == ([("arena", 30000)], "NoPortAvailable")
    assert "30000" in (made.shown().endpoints or "")


@pytest.mark.row("AL-10", "AL-12")
def test_a_number_that_one_pool_loses_before_it_is_shown_is_given_up_in_all() -> None:
    made = world()
    made.foreign = {("lobby", "bm-lobby-0", 30000)}
    made.run()
    assert places(made) == [("arena", 30001), ("lobby", 30001)]
    assert made.shown().state == "Bound"


@pytest.mark.row("AL-14")
def test_the_annotation_moves_no_port_that_is_there() -> None:
    made = PureWorld(pools={"arena": PurePool(), "lobby": PurePool()})
    taken(made, "arena", 30000)
    made.pod("a", BOTH)
    made.run()
    made.pod("a", BOTH, notes=TRUE)
    made.run()
    assert places(made) == [("arena", 30001), ("lobby", 30000)]


@pytest.mark.row("AL-10", "BD-22")
def test_ports_that_wait_for_the_next_pod_are_taken_over_in_pool_after_pool() -> None:
    made = PureWorld(pools={"arena": PurePool(), "lobby": PurePool()})
    taken(made, "arena", 30000)
    notes = TRUE | {PORTS_RETAIN: "1h"}
    made.pod("a", BOTH, notes=notes)
    made.run()
    before = places(made)
    del made.pods["a"]
    made.run()
    made.pod("a", BOTH, uid="second", notes=notes)
    made.run()
    assert places(made) == before == [("arena", 30001), ("lobby", 30001)]
    assert made.shown().state == "Bound"


@pytest.mark.row("AL-10")
def test_wants_that_share_an_entry_have_the_same_number() -> None:
    wants = parse_ports("a=1/TCP@x+y, b=1/UDP@y+z, c=2/TCP@x+y, d=3/TCP@x")
    assert sorted(sorted((w.pool, w.key) for w in group) for group in same_port_groups(wants)) == [
        [("x", "1/TCP"), ("y", "1/TCPUDP"), ("z", "1/UDP")],
        [("x", "2/TCP"), ("y", "2/TCP")],
    ]


@pytest.mark.row("SU-04", "SU-11")
def test_only_the_pool_with_the_fewest_candidates_grows_for_a_number_in_common() -> None:
    assert pools_to_grow({"arena": 0b110, "lobby": 0b1}, {"arena", "lobby"}) == {"lobby"}
    assert pools_to_grow({"arena": 0b110, "lobby": 0b1}, {"arena"}) == {"arena"}
    assert pools_to_grow({"arena": 0b110, "lobby": 0b1}, set()) == set()
    assert pools_to_grow({"arena": 0, "lobby": 0b1}, {"lobby"}) == {"arena"}


@given(st.integers(1, 60), st.integers(1, 9), st.integers(0, 20))
def test_a_mask_has_just_the_bits_of_its_numbers(start: int, step: int, count: int) -> None:
    numbers = range(start, start + step * count, step)
    assert list(common_ports([ports_mask(numbers)])) == list(numbers)


@pytest.mark.row("AL-10", "PP-08")
@given(st.lists(st.binary(max_size=3), min_size=1, max_size=3), st.integers(1, 5), st.integers(1, 4))
def test_free_numbers_are_those_where_a_load_balancer_has_the_whole_run(
    taken: list[bytes], ports: int, segment: int
) -> None:
    spec = pool_spec(start_port=30000, end_port=30019, segment_length=segment)
    (want,) = parse_ports(f"1-{ports}/UDP@arena")
    used = [{8 * n + k for n, byte in enumerate(each) for k in range(8) if byte >> k & 1} for each in taken]
    rows = {first: set(range(first - 30000, first - 30000 + ports)) for first in range(30000, 30021 - ports, segment)}
    expected = [first for first, row in rows.items() if any(each.isdisjoint(row) for each in used)]
    assert list(common_ports([free_ports_mask(spec, want, taken)])) == expected
    assert set(expected) <= set(first_ports(spec, want))
