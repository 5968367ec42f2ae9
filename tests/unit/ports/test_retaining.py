"""How long ports wait for the next pod of the name, and what becomes of those that were left."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.kubernetes.names import PORTS_RETAIN
from domain.port_pools.port_pool import PoolState
from domain.ports.entry import EntryState
from domain.ports.pod import Outputs, PortsState
from domain.ports.request import RequestError
from domain.ports.retain_annotation import LONGEST, retention
from domain.ports.steps import Relabel, Retain, Stop
from tests.support.ports.pure_run import PurePool, PureWorld
from tests.unit.ports.worlds import ONE, TWO, kinds, world

DAY = timedelta(days=1)


@pytest.mark.row("BD-22")
@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, 0),
        ("", 0),
        ("false", 0),
        ("0s", 0),
        ("true", 86400),
        (" True ", 86400),
        ("90s", 90),
        ("30m", 1800),
        ("24h", 86400),
        ("7d", 604800),
        ("30d", 2592000),
    ],
)
def test_a_length_of_time_is_read(text: str | None, seconds: int) -> None:
    assert retention(text, DAY) == seconds


@pytest.mark.row("BD-22", "BD-03")
@pytest.mark.parametrize("text", ["yes", "24", "-1h", "1h30m", "1.5h", "31d", "9999999d", "٣h", "24h\n1", "x" * 5000])
def test_what_is_no_length_of_time_is_refused_by_name(text: str) -> None:
    with pytest.raises(RequestError, match=r"berthmaster.dev/ports-retain '.*' is not true, false or a length of time"):
        retention(text, DAY)


@given(st.text())
def test_every_text_is_a_length_within_the_limit_or_an_error(text: str) -> None:
    with contextlib.suppress(RequestError):
        assert 0 <= retention(text, DAY) <= LONGEST.total_seconds()


def retaining(ports: str = ONE, retain: str = "true", **pools: PurePool) -> PureWorld:
    """A bound pod `a` that wants its ports retained."""
    made = world(ports, {"notes": {PORTS_RETAIN: retain}}, **pools)
    made.run()
    assert made.shown().state == PortsState.BOUND
    return made


def comes_back(made: PureWorld, ports: str | None = ONE, retain: str = "true") -> None:
    made.pods.pop("a", None)
    made.pod("a", ports, uid="uid-2", ips=("10.0.0.2",), notes={PORTS_RETAIN: retain})


@pytest.mark.row("BD-22")
def test_ports_are_bound_with_their_retention_and_no_step_more() -> None:
    made = world(TWO, {"notes": {PORTS_RETAIN: "1h"}})
    assert kinds(made.run()) == ["Allocate", "Provision", "Provision", "Show", "Stop"]
    assert {e.retain for e in made.held()} == {3600}


@pytest.mark.row("BD-22")
def test_the_ports_of_a_pod_that_is_gone_are_retained_and_then_left_alone() -> None:
    made = retaining(TWO)
    del made.pods["a"]
    assert kinds(made.run()) == ["Retain", "Retain", "Stop"]
    assert {(e.state, e.target, e.until) for e in made.held()} == {(EntryState.RETAINED, "", 1)}
    assert made.run() == [Stop(None, "nothing is asked for")]


@pytest.mark.row("BD-22", "AL-17")
def test_only_what_was_bound_is_retained() -> None:
    made = world(ONE, {"notes": {PORTS_RETAIN: "true"}, "ips": ()})
    made.run()
    del made.pods["a"]
    assert kinds(made.run()) == ["Release", "Stop"]


@pytest.mark.row("BD-22")
def test_the_next_pod_takes_over_before_it_asks_for_more() -> None:
    made = retaining(ONE)
    (held,) = made.held()
    del made.pods["a"]
    made.run()
    comes_back(made, TWO)
    assert kinds(made.run()) == ["Inherit", "Provision", "Allocate", "Provision", "Show", "Stop"]
    assert next((e.id, e.uid, e.state) for e in made.held()) == (held.id, "uid-2", EntryState.BOUND)


@pytest.mark.row("BD-22", "AL-12")
def test_what_was_taken_over_stays_while_the_rest_of_the_request_waits() -> None:
    made = retaining(ONE, arena=PurePool(room=1))
    del made.pods["a"]
    made.run()
    comes_back(made, TWO)
    made.run()
    assert [(e.uid, e.state) for e in made.held()] == [("uid-2", EntryState.BOUND)]
    assert made.shown().state == PortsState.NO_PORT_AVAILABLE


@pytest.mark.row("BD-22")
@pytest.mark.parametrize("lost", [0, 1], ids=["whole", "a port short"])
def test_a_run_of_ports_is_taken_over_as_a_whole_or_not_at_all(lost: int) -> None:
    ports = "10000-10002/UDP@arena"
    made = retaining(ports, arena=PurePool(room=9))
    before = [e.id for e in made.held()]
    del made.pods["a"]
    made.run()
    for entry in made.held()[:lost]:
        del made.entries["a"][entry.id]
    made.foreign = set(before[:lost])
    comes_back(made, ports)
    made.run()
    made.run()
    after = [e.id for e in made.held()]
    assert made.shown().state == PortsState.BOUND
    assert (after == before) == (not lost)
    assert {e.uid for e in made.held()} == {"uid-2"}


@pytest.mark.row("BD-22")
@pytest.mark.parametrize("ports", [None, "1/TCP@arena"])
def test_a_pod_without_the_request_gives_up_what_was_retained(ports: str | None) -> None:
    made = retaining()
    (held,) = made.held()
    del made.pods["a"]
    made.run()
    comes_back(made, ports)
    assert kinds(made.run())[0] == "Release"
    assert [e.want for e in made.held()] == (["1/TCP"] if ports else [])
    assert not ports or made.held()[0].id == held.id  # free again


@pytest.mark.row("BD-22")
def test_a_pod_that_ended_is_shown_without_its_port_before_that_is_retained() -> None:
    made = retaining()
    made.pod("a", ONE, phase="Succeeded", notes={PORTS_RETAIN: "true"})
    assert kinds(made.run()) == ["Clear", "Retain", "Show", "Stop"]
    assert made.shown() == Outputs()


@pytest.mark.row("BD-22")
def test_a_request_that_cannot_be_read_leaves_what_waits_for_it_waiting() -> None:
    made = retaining()
    del made.pods["a"]
    made.run()
    before = made.held()
    comes_back(made, "7777/SCTP@arena")
    made.run()
    assert made.held() == before


@pytest.mark.row("BD-22")
@pytest.mark.parametrize("state", [PoolState.PENDING, PoolState.DELETING])
def test_a_pool_that_is_not_active_hands_nothing_over_and_a_deleted_one_keeps_nothing(state: PoolState) -> None:
    made = retaining()
    del made.pods["a"]
    made.run()
    before = made.held()
    made.pools["arena"].state = state
    made.run()
    assert made.held() == (before if state is PoolState.PENDING else [])
    comes_back(made)
    made.run()
    assert made.held() == (before if state is PoolState.PENDING else [])
    assert made.shown().state == PortsState.POOL_NOT_ALLOCATABLE


@pytest.mark.row("BD-22")
def test_of_two_ports_left_for_one_want_one_is_kept() -> None:
    made = retaining(arena=PurePool(room=9))
    (held,) = made.held()
    twin = replace(held, port=held.port + 1, uid="uid-0")
    made.entries["a"][twin.id] = twin
    del made.pods["a"]
    assert kinds(made.run()) == ["Release", "Retain", "Stop"]
    assert [e.id for e in made.held()] == [held.id]


@pytest.mark.row("BD-22")
def test_a_change_of_retention_is_labelled_on_what_is_bound() -> None:
    made = retaining(TWO)
    made.pod("a", TWO, notes={PORTS_RETAIN: "2h"})
    (step, _) = made.run()
    assert isinstance(step, Relabel)
    assert (len(step.entries), step.retain) == (2, 7200)
    made.pod("a", TWO, notes={PORTS_RETAIN: "for ever"})
    made.run()
    assert {e.retain for e in made.held()} == {7200}


@pytest.mark.row("BD-22", "AL-17")
def test_what_no_time_runs_against_is_emptied_again() -> None:
    """A rebuild does not know what is registered; nor does anybody when the heir died while it took over."""
    made = retaining()
    (held,) = made.held()
    made.entries["a"] = {held.id: replace(held, state=EntryState.RETAINED)}
    del made.pods["a"]
    assert isinstance(made.run()[0], Retain)
