"""A bound pod changes, and what the cloud carries follows."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from domain.kubernetes.names import PORTS_ENABLED
from domain.port_pools.port_pool import PoolState
from domain.ports.endpoints import published_ids
from domain.ports.entry import EntryState
from domain.ports.pod import PortsState
from domain.ports.steps import Provision
from tests.support.ports.pure_run import PurePool, PureWorld
from tests.unit.ports.worlds import ONE, TWO, bound_world, entry, give, kinds, world


def targets(made: PureWorld) -> list[str]:
    return [e.target for e in made.held()]


@pytest.mark.row("BD-14")
def test_a_new_address_is_registered_and_shown() -> None:
    made = bound_world()
    made.pod(ips=("10.0.0.2",))
    steps = made.run()
    assert kinds(steps) == ["Provision", "Show", "Stop"]
    assert steps[0] == Provision(replace(made.held()[0], target="10.0.0.1:7777"), "10.0.0.2:7777")
    assert json.loads(made.shown().endpoints or "")[0]["target"] == "10.0.0.2:7777"


@pytest.mark.row("BD-14", "BD-03")
@pytest.mark.parametrize("ports", ["7777/UDP", "7777/UDP@arena,7778/TCP@nowhere", "7777/UDP@arena,7778/TCP@full"])
def test_a_new_address_is_registered_even_if_the_rest_of_the_request_cannot_be_met(ports: str) -> None:
    made = bound_world(arena=PurePool(), full=PurePool(room=0))
    made.pod(ports=ports, ips=("10.0.0.2",))
    made.run()
    assert targets(made) == ["10.0.0.2:7777"]
    assert json.loads(made.shown().endpoints or "")[0]["target"] == "10.0.0.2:7777"
    assert made.shown().state != PortsState.BOUND


@pytest.mark.row("BD-12")
def test_isolation_works_in_spite_of_a_mistake_in_the_annotation() -> None:
    made = bound_world()
    made.pod(ports="7777", notes={PORTS_ENABLED: "false"})
    made.run()
    assert targets(made) == [""]


@pytest.mark.row("BD-14")
def test_an_address_that_is_gone_is_deregistered() -> None:
    made = bound_world()
    made.pod(ips=())
    made.run()
    assert (targets(made), made.shown().state) == ([""], PortsState.WAIT_BACKEND)
    assert json.loads(made.shown().endpoints or "")[0]["status"] == "NotReady"


@pytest.mark.row("BD-14")
@pytest.mark.parametrize("state", [PoolState.DELETING, PoolState.PENDING])
def test_a_pool_that_gives_no_ports_still_serves_the_bound_ones(state: PoolState) -> None:
    made = bound_world()
    made.pools["arena"].state = state
    made.pod(ips=("10.0.0.2",))
    made.run()
    assert (targets(made), made.shown().state) == (["10.0.0.2:7777"], PortsState.BOUND)


@pytest.mark.row("BD-19")
def test_a_listener_that_was_lost_is_made_again_on_the_same_port() -> None:
    made = bound_world()
    give(made, replace(made.held()[0], listener="", target=""))
    assert kinds(made.run()) == ["Provision", "Stop"]
    assert [(e.port, e.listener) for e in made.held()] == [(30000, "listener/bm-arena-0:30000")]


@pytest.mark.row("BD-17")
@pytest.mark.parametrize("crash", range(1, 6))
def test_a_run_that_dies_anywhere_is_finished_by_the_next_with_the_same_ports(crash: int) -> None:
    made = world(TWO)
    made.run(crash_after=crash)
    made.run()
    assert made.shown().state == PortsState.BOUND
    assert [e.port for e in made.held()] == [30000, 30001]


@pytest.mark.row("BD-24")
def test_two_ports_of_one_pod_get_two_listeners() -> None:
    made = bound_world("7777/TCP@arena,7778/TCP@arena")
    assert len({e.listener for e in made.held()}) == 2
    assert len({e.target_group for e in made.held()}) == 2


@pytest.mark.row("PP-07", "BD-16")
def test_a_port_with_a_listener_of_somebody_else_is_given_up_for_another() -> None:
    made = world(TWO)
    made.foreign = {("arena", "bm-arena-0", 30000)}
    made.run()
    assert [e.port for e in made.held()] == [30001, 30002]
    assert published_ids(made.shown().endpoints) == {e.id for e in made.held()}


def test_an_entry_that_is_aimed_right_but_not_recorded_bound_is_recorded() -> None:
    made = world()
    give(made, entry(listener="l", target="10.0.0.1:7777"))
    assert kinds(made.run()) == ["Provision", "Show", "Stop"]
    assert made.held()[0].state is EntryState.BOUND


def test_an_entry_with_a_strange_want_is_left_as_it_is_while_the_annotation_cannot_be_read() -> None:
    made = world("7777")
    give(made, entry(want="", state=EntryState.BOUND))
    assert kinds(made.run()) == ["Show", "Stop"]
    made.pod(ports=ONE)
    assert "Release" in kinds(made.run())


def test_a_pod_that_changes_under_a_run_is_not_written() -> None:
    made = world()
    made.run(crash_after=2)
    run = made.begin()
    newest = made.pod(ips=("10.0.0.2",))
    assert kinds(made.go_on(run)) == ["Confirm", "Show"]
    assert made.shown() == newest.outputs
