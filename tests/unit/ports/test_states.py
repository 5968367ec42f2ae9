"""Every state that a pod can be told, and what it is told then."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from domain.kubernetes.names import ENDPOINTS, PORTS_ENABLED
from domain.port_pools.port_pool import PoolState
from domain.ports.lifecycle import MISSING_POOL, REBUILDING, WAITING_POD
from domain.ports.pod import Outputs, PortsState
from domain.ports.steps import Show, Stop
from tests.support.ports.pure_run import PurePool, PureWorld
from tests.unit.ports.worlds import ONE, TWO, VOICE, bound_world, kinds, world

CLOSED = [PoolState.DELETING, PoolState.PENDING]


@pytest.mark.row("BD-01")
def test_a_pod_is_pending_while_the_ledger_is_rebuilt() -> None:
    made = world(arena=PurePool(PoolState.NOT_READY))
    assert made.run()[-1] == Stop(REBUILDING, "the ledger of pool arena is being rebuilt")
    assert made.shown() == Outputs("Pending", None, "the ledger of pool arena is being rebuilt")


@pytest.mark.row("BD-01", "AL-20")
def test_a_rebuild_changes_nothing_that_a_pod_shows() -> None:
    made = bound_world()
    before, made.pools["arena"].state = made.shown(), PoolState.NOT_READY
    made.pod(ports=None)
    assert kinds(made.run()) == ["Stop"]
    assert made.shown() == before


@pytest.mark.row("BD-01")
@pytest.mark.parametrize("state", [PortsState.ALLOCATED, PortsState.FAILED])
def test_a_failing_cloud_call_is_told_once_and_tried_again(state: PortsState) -> None:
    made = world()
    made.cloud_error = state
    assert kinds(made.run()) == ["Allocate", "Provision"]
    assert made.shown() == Outputs(state, None, "AWS CreateListener: Busy")
    version = made.version
    assert kinds(made.run()) == ["Provision"]
    assert made.version == version
    made.cloud_error = None
    made.run()
    assert made.shown().state == PortsState.BOUND


@pytest.mark.row("BD-01", "BD-05", "BD-07")
def test_a_pod_without_an_address_has_its_listener_already() -> None:
    made = world(pod={"ips": ()})
    assert made.run()[-1] == Stop(WAITING_POD, "waiting for an IPv4 address of the pod")
    assert made.shown().state == PortsState.WAIT_BACKEND
    (held,) = made.held()
    assert (held.listener, held.target, held.state) == ("listener/bm-arena-0:30000", "", "allocated")


@pytest.mark.row("BD-05", "BD-06")
@pytest.mark.parametrize("ips", [("fd00::1",), ("none",), ("10.0.0",), ("",)])
def test_only_an_ipv4_address_is_registered(ips: tuple[str, ...]) -> None:
    made = world(pod={"ips": ips})
    made.run()
    assert made.shown().state == PortsState.WAIT_BACKEND


@pytest.mark.row("BD-05", "BD-06")
def test_the_address_is_registered_once_it_is_there() -> None:
    made = world(pod={"ips": ()})
    made.run()
    made.pod(ips=("fd00::1", "10.0.0.7"))
    assert kinds(made.run()) == ["Provision", "Show", "Stop"]
    assert made.held()[0].target == "10.0.0.7:7777"
    assert made.shown().state == PortsState.BOUND


@pytest.mark.row("BD-01", "BD-09")
def test_a_bound_pod_shows_where_it_can_be_reached() -> None:
    made = world("game=7777/UDP@arena, voice=9000/TCP@arena, video=9000/UDP@arena")
    steps = made.run()
    assert kinds(steps) == ["Allocate", "Provision", "Provision", "Show", "Stop"]
    assert steps[-1] == Stop(None, "bound")
    rows = json.loads(made.shown().endpoints or "")
    assert rows[0] == {
        "name": "game",
        "containerPort": 7777,
        "protocol": "UDP",
        "pool": "arena",
        "loadBalancer": "bm-arena-0",
        "host": "bm-arena-0.example",
        "port": 30000,
        "endPort": 30000,
        "address": "bm-arena-0.example:30000",
        "target": "10.0.0.1:7777",
        "status": "Ready",
    }
    assert [(r["name"], r["protocol"], r["port"]) for r in rows[1:]] == [
        ("voice", "TCP", 30001),
        ("video", "UDP", 30001),
    ]


@pytest.mark.row("BD-08")
@pytest.mark.parametrize("crash", [1, 2, 3])
def test_nothing_is_shown_until_every_port_is_bound(crash: int) -> None:
    made = world(TWO, arena=PurePool(room=1, lbs=2))
    made.run(crash_after=crash)
    assert made.shown() == Outputs()
    made.run()
    assert len(json.loads(made.shown().endpoints or "")) == 2


@pytest.mark.row("BD-08")
def test_one_port_that_fails_keeps_the_other_from_being_shown() -> None:
    made = world(TWO)
    made.run(crash_after=2)
    made.cloud_error = PortsState.ALLOCATED
    made.run()
    assert [e.state for e in made.held()] == ["bound", "allocated"]
    assert made.shown().endpoints is None


@pytest.mark.row("BD-08")
def test_a_result_is_confirmed_by_the_run_that_shows_it() -> None:
    made = world()
    made.run(crash_after=2)
    assert kinds(made.run()) == ["Confirm", "Show", "Stop"]


@pytest.mark.row("BD-01", "BD-12")
def test_a_disabled_pod_keeps_its_port_but_gets_no_traffic() -> None:
    made = bound_world()
    made.pod(notes={PORTS_ENABLED: "False"})
    assert kinds(made.run()) == ["Disable", "Show", "Stop"]
    (held,) = made.held()
    assert (held.target, held.listener) == ("", "listener/bm-arena-0:30000")
    row = json.loads(made.shown().endpoints or "")[0]
    assert (made.shown().state, row["status"], row["port"]) == (PortsState.DISABLED, "NotReady", 30000)
    made.pod()
    made.run()
    assert (made.shown().state, made.held()[0].target) == (PortsState.BOUND, "10.0.0.1:7777")


@pytest.mark.row("BD-12")
def test_a_pod_that_starts_disabled_is_never_registered() -> None:
    made = world(pod={"notes": {PORTS_ENABLED: "false"}})
    made.run()
    assert made.shown() == Outputs(PortsState.DISABLED, None, f"isolated by {PORTS_ENABLED}=false")
    assert made.held()[0].target == ""


@pytest.mark.row("BD-01", "AL-22")
def test_a_pod_without_a_free_port_waits_on_the_list() -> None:
    made = world(arena=PurePool(room=0))
    assert made.run()[-1] == Stop(timedelta(minutes=5), "no free port in arena")
    assert (made.shown().state, made.waiting["a"]) == (PortsState.NO_PORT_AVAILABLE, {"arena"})


@pytest.mark.row("BD-42")
@pytest.mark.parametrize(("ports", "said"), [("7777/UDP@arena", 0), ("7777-7779/UDP@arena", 1)])
def test_a_pod_that_has_waited_says_that_it_has_its_ports_before_they_are_bound(ports: str, said: int) -> None:
    made = world(ports, arena=PurePool(room=0))
    made.run()
    made.pools["arena"].room = 3
    steps = made.run()
    first_calls = steps[: kinds(steps).index("Provision")]
    shown = [step.outputs for step in first_calls if isinstance(step, Show)]
    assert shown == [Outputs(PortsState.ALLOCATED, None, "3 ports are being bound")] * said
    assert made.shown().state == PortsState.BOUND


@pytest.mark.row("AL-22")
def test_waiting_writes_nothing_again() -> None:
    made = world(arena=PurePool(room=0))
    made.run()
    assert kinds(made.run()) == ["Allocate", "Stop"]


@pytest.mark.row("BD-01")
def test_a_pool_that_does_not_exist_is_named() -> None:
    made = world(VOICE, arena=PurePool())
    assert made.run()[-1] == Stop(MISSING_POOL, "there is no PortPool lobby")
    assert made.shown() == Outputs(PortsState.POOL_NOT_FOUND, None, "there is no PortPool lobby")
    assert made.held() == []


@pytest.mark.row("BD-01", "PP-21")
@pytest.mark.parametrize("state", CLOSED)
def test_a_pool_that_gives_no_ports_is_named_and_recovers_by_itself(state: PoolState) -> None:
    made = world(arena=PurePool(state))
    assert made.run()[-1] == Stop(MISSING_POOL, f"PortPool arena is {state}")
    assert made.shown().state == PortsState.POOL_NOT_ALLOCATABLE
    made.pools["arena"].state = PoolState.ACTIVE
    made.run()
    assert made.shown().state == PortsState.BOUND


@pytest.mark.row("PP-21", "PP-23")
def test_a_pool_that_ends_takes_nothing_from_bound_pods() -> None:
    made = bound_world()
    made.pools["arena"].state = PoolState.DELETING
    assert kinds(made.run()) == ["Stop"]


@pytest.mark.row("BD-01", "BD-03")
def test_a_faulty_annotation_is_told_and_not_tried_again() -> None:
    made = world("7777/SCTP@arena")
    steps = made.run()
    assert kinds(steps) == ["Show", "Stop"]
    assert isinstance(steps[-1], Stop)
    assert steps[-1].after is None
    assert made.shown().state == PortsState.FAILED
    assert "'SCTP'" in (made.shown().message or "")


@pytest.mark.row("BD-01")
def test_a_port_that_is_given_back_is_announced_first() -> None:
    made = bound_world(TWO)
    made.pod(ports=ONE)
    made.run(crash_after=1)
    assert made.shown().state == PortsState.RELEASING
    assert [row["port"] for row in json.loads(made.shown().endpoints or "")] == [30000]
    assert len(made.held()) == 2


@pytest.mark.row("BD-02")
def test_a_pod_that_did_not_opt_in_is_left_alone() -> None:
    assert kinds(world(ports=None).run()) == ["Stop"]


@pytest.mark.row("BD-02", "BD-13")
@pytest.mark.parametrize("name", [ENDPOINTS, "berthmaster.dev/ports-state"])
def test_outputs_without_a_request_are_removed(name: str) -> None:
    made = world(ports=None, pod={"notes": {name: "x"}})
    assert kinds(made.run()) == ["Show", "Stop"]
    assert made.shown() == Outputs()


@pytest.mark.row("BD-03")
def test_unknown_annotations_are_reported_and_stop_nothing() -> None:
    made = world(pod={"notes": {"berthmaster.dev/portz": "1", "berthmaster.dev/a": "", "other/x": ""}})
    made.run()
    assert made.shown().state == PortsState.BOUND
    assert made.shown().message == "ignored, unknown: berthmaster.dev/a, berthmaster.dev/portz"


@pytest.mark.row("BD-04")
def test_an_empty_annotation_asks_for_the_default() -> None:
    made = PureWorld(pools={"arena": PurePool()}, default="1234/TCP@arena")
    made.pod(ports="")
    made.run()
    assert made.held()[0].want == "1234/TCP"


@pytest.mark.row("BD-21")
@pytest.mark.parametrize("text", ["", "{", "[]", "null", '[{"port": 1e999}]', "[" * 100_000])
def test_a_result_that_was_edited_by_hand_is_restored(text: str) -> None:
    made = bound_world()
    good = made.shown()
    made.pod(notes={ENDPOINTS: text})
    made.run()
    assert made.shown() == good
