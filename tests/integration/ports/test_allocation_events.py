"""A pod that begins to wait for ports is one event in the stream, whoever dies."""

from __future__ import annotations

from typing import Any

import pytest

from berthmaster.routing import EVENTS_STREAM, pod_key
from events.protocol.event_stream import EventStream
from events.settings import StreamSettings
from tests.integration.ports.test_same_port import ask
from tests.support.event_stream import events_of, failures_of
from tests.support.faults.interruption import Killed
from tests.support.ports.fleet import Fleet
from workers.scale_up.sweep import sweep
from workers.stores.journal import EventJournal


class DyingStream(EventStream):
    """The process dies right before it writes to the stream."""

    def append(self, *_: Any) -> None:
        raise Killed


def reasons(fleet: Fleet) -> list[tuple[str, str | None, str | None]]:
    return [(failed.key, failed.pool, failed.reason) for failed in failures_of(fleet.redis)]


def let_run(fleet: Fleet) -> None:
    """Let the publisher and workers go on, and nobody scale up: no pool has a load balancer."""
    fleet.sync()
    fleet.drain()


def waiting_pod(fleet: Fleet) -> str:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    let_run(fleet)
    return pod_key(fleet.namespace, "a")


@pytest.mark.row("EV-31")
def test_a_pod_without_a_port_is_one_event_however_often_it_tries(fleet: Fleet) -> None:
    key = waiting_pod(fleet)
    for _ in range(3):
        fleet.due()
        let_run(fleet)
    sweep(fleet.services)
    assert reasons(fleet) == [(key, "arena", "NoFreePort")]
    (event,) = events_of(fleet.redis)
    (failed,) = failures_of(fleet.redis)
    assert (event.source, event.subject) == ("/berthmaster/worker", key)
    assert event.id.startswith(f"{failed.uid}/arena/")
    assert (failed.resource, failed.message) == ("ports", "pool arena has no free port for 1 wanted")


@pytest.mark.row("EV-31")
def test_the_event_of_a_run_that_dies_before_it_writes_it_is_written_by_the_sweep(fleet: Fleet) -> None:
    """Rule outbox."""
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    fleet.sync()
    key, dying = pod_key(fleet.namespace, "a"), EventJournal(fleet.redis, DyingStream(StreamSettings()))
    fleet.run("portpool/arena")
    with pytest.raises(Killed):
        fleet.run(key, fleet.other(journal=dying))
    assert failures_of(fleet.redis) == []
    sweep(fleet.services)
    sweep(fleet.services)
    assert reasons(fleet) == [(key, "arena", "NoFreePort")]


@pytest.mark.row("EV-31")
def test_an_event_whose_writer_dies_before_it_says_so_has_the_same_id_again(fleet: Fleet) -> None:
    """Rule outbox."""
    waiting_pod(fleet)
    (event,) = events_of(fleet.redis)
    place = event.id.rpartition("/")[2]
    fields: Any = {"name": f"{fleet.namespace}/a", "uid": failures_of(fleet.redis)[0].uid, "ports": 1}
    fleet.redis.delete("{pp:arena}outbox")
    fleet.redis.xadd("{pp:arena}outbox", fields | {"reason": "NoFreePort"}, id=place)
    sweep(fleet.services)
    first, second = events_of(fleet.redis)
    assert first == second


@pytest.mark.row("EV-31")
def test_a_new_pod_of_the_name_and_a_pod_that_waits_anew_are_other_events(fleet: Fleet) -> None:
    key = waiting_pod(fleet)
    uid = failures_of(fleet.redis)[0].uid
    fleet.annotate("a", ports=None)
    let_run(fleet)
    fleet.annotate("a", ports="7777/UDP@arena")
    let_run(fleet)
    fleet.delete("a")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    let_run(fleet)
    assert [failed.key for failed in failures_of(fleet.redis)] == [key] * 3
    assert [failed.uid == uid for failed in failures_of(fleet.redis)] == [True, True, False]
    assert len({event.id for event in events_of(fleet.redis)}) == 3


@pytest.mark.row("EV-31")
def test_a_pod_that_waits_for_its_namespace_s_share_says_so(fleet: Fleet) -> None:
    create = {"enabled": True, "maxLoadBalancers": 1, "parameters": {"subnets": list(fleet.network.subnets)}}
    fleet.pool("arena", autoCreate=create, maxPortsPerNamespace=1)
    for name in ("a", "b"):
        fleet.pod(name, "7777/UDP@arena", ip="10.0.0.1")
        fleet.settle()
    assert reasons(fleet) == [
        (pod_key(fleet.namespace, "a"), "arena", "NoFreePort"),
        (pod_key(fleet.namespace, "b"), "arena", "NamespaceShare"),
    ]


@pytest.mark.row("EV-31")
def test_a_pod_without_a_port_in_common_waits_in_each_pool(fleet: Fleet) -> None:
    for name in ("a1", "a2"):
        fleet.pool(name)
    ask(fleet, "a", "7777/UDP@a1+a2")
    let_run(fleet)
    key = pod_key(fleet.namespace, "a")
    assert sorted(reasons(fleet)) == [(key, "a1", "NoCommonPort"), (key, "a2", "NoCommonPort")]


@pytest.mark.row("EV-31", "HO-03")
def test_an_entry_that_no_script_wrote_stops_no_sweep(fleet: Fleet) -> None:
    key = waiting_pod(fleet)
    fleet.redis.xadd("{pp:arena}outbox", {"name": "nothing else"})
    sweep(fleet.services)
    assert reasons(fleet) == [(key, "arena", "NoFreePort")]
    assert fleet.redis.xlen("{pp:arena}outbox") == 0


@pytest.mark.row("EV-31", "HO-03")
@pytest.mark.parametrize("harmed", ["outbox", "time", "stream"])
def test_an_outbox_or_stream_that_is_none_stops_no_sweep(fleet: Fleet, harmed: str) -> None:
    waiting_pod(fleet)
    fleet.pool("zeta")
    let_run(fleet)
    if harmed == "outbox":
        fleet.redis.set("{pp:arena}outbox", "no stream")
    else:
        fleet.redis.xadd("{pp:arena}outbox", {"name": "x"}, id="9999999999999999-0")
    if harmed == "stream":
        fleet.redis.set(EVENTS_STREAM, "no stream")
        fleet.redis.delete("{pp:arena}outbox")
        entry: Any = {"name": f"{fleet.namespace}/a", "uid": "u", "ports": 1, "reason": "NoFreePort"}
        fleet.redis.xadd("{pp:arena}outbox", entry)
    sweep(fleet.services)
    assert {"portpool/arena", "portpool/zeta"} <= set(fleet.queued())


@pytest.mark.row("EV-31", "HO-03")
@pytest.mark.parametrize("last", ["", "18446744073709551615-18446744073709551615"])
def test_a_pod_begins_to_wait_whatever_its_outbox_is(fleet: Fleet, last: str) -> None:
    fleet.pool("arena")
    let_run(fleet)
    if last:
        fleet.redis.xadd("{pp:arena}outbox", {"name": "x"}, id=last)
    else:
        fleet.redis.set("{pp:arena}outbox", "no stream")
    ask(fleet, "a", "7777/UDP@arena")
    let_run(fleet)
    assert reasons(fleet) == [(pod_key(fleet.namespace, "a"), "arena", "NoFreePort")]
