"""A pool follows use down as well, counts only pods that can take work, and tries again what never became ready."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import orjson
import pytest

from berthmaster.clock import ServerClock
from events.kube.api import KubeApi
from tests.integration.pod_pools.conftest import MakePool


@pytest.mark.row("SD-24", "KU-13")
def test_pods_that_never_become_ready_are_replaced_slower_each_time_and_then_one_at_a_time(make_pool: MakePool) -> None:
    """Field bug KU-13: after five such pods a pool had none until its template changed."""
    pool = make_pool(minReplicas=1, readyTimeout="0s")
    names = list[set[str]]()
    for tries in range(8):
        if tries == 5:
            pool.change(minReplicas=2)
        pool.run()
        names.append(pool.names())
        pool.run()
        for name in pool.names():
            pool.end(name)
        pool.run()
        assert pool.names() == set(), "no pod comes before the pause is over"
        pool.let_pauses_pass()
    assert [len(each) for each in names] == [1] * 8
    status = pool.status()
    (ready,) = [c for c in status["conditions"] if c["type"] == "Ready"]
    assert (ready["status"], ready["reason"]) == ("False", "PodsNeverReady")
    assert status["reason"] == "8 pods in a row never became ready: one more is tried in 5 min"
    pool.change(readyTimeout="10m")
    pool.settle()
    assert pool.views() == ["open", "open"]
    assert {c["status"] for c in pool.status()["conditions"]} == {"True"}


@pytest.mark.row("SD-24")
def test_a_new_template_is_tried_at_once(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, readyTimeout="0s")
    pool.run()
    pool.run()
    for name in pool.names():
        pool.end(name)
    pool.run()
    assert pool.names() == set()
    pool.change(readyTimeout="10m", template={"spec": {"containers": [{"name": "runner", "image": "runner:2"}]}})
    pool.settle()
    assert pool.views() == ["open"]


@pytest.mark.row("SD-31", "SD-02")
@pytest.mark.parametrize(("hold", "left"), [(False, 1), (True, 4)])
def test_idle_pods_go_while_a_person_keeps_a_slot_unless_the_pool_holds_them(
    make_pool: MakePool, hold: bool, left: int
) -> None:
    pool = make_pool(minReplicas=4, maxReplicas=4)
    pool.settle()
    plan = pool.slots.submit("held", "plan", "apply").uid
    pool.slots.deliver_all()
    pool.finish_all()
    assert pool.slots.state("held") == "reserved"
    quick = {"upCooldown": "0s", "downCooldown": "0s", "holdWhileBusy": hold}
    pool.change(minReplicas=0, scaling=quick)
    pool.settle(6)
    uids = {pod["metadata"]["uid"] for pod in pool.pods()}
    assert (len(uids), plan in uids) == (left, True)
    assert pool.status()["reason"] == "1 slot reserved"


@pytest.mark.row("SD-33")
def test_pods_that_are_ready_no_more_are_replaced_after_a_time_and_no_ready_one_goes(make_pool: MakePool) -> None:
    """Rule capable. Field bug SD-33: a warm pool with such pods removed and created ready ones for ever."""
    pool = make_pool(maxIdle=2, maxReplicas=5, slots=[])
    pool.layout = ()
    pool.settle()
    before = pool.names()
    first, *_ = before
    pool.ready(first, "False")
    pool.run()
    assert pool.names() > before, "a warm pod comes in its place"
    for _ in range(4):
        pool.run()
        for name in pool.names() - {first}:
            pool.ready(name, "True")
    assert (first in pool.names(), len(pool.names())) == (False, 2)
    there = pool.names()
    for _ in range(4):
        pool.run()
    assert pool.names() == there


@pytest.mark.row("SD-33")
def test_a_pod_that_is_ready_no_more_is_retired_after_the_time_out_unless_it_has_a_job(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=2, maxReplicas=2, slots=[{}], readyTimeout="10m")
    pool.layout = ("*",)
    pool.settle()
    pool.slots.submit("j")
    pool.slots.deliver_all()
    for name in pool.names():
        pool.ready(name, "False")
    pool.run()
    assert (pool.views(), pool.status()["pods"]["away"]) == (["away", "away"], 2)
    stored = pool.slots.stored("pods")
    for uid, record in stored.items():
        pool.redis.hset(f"{pool.slots.ledger.prefix}pods", uid, orjson.dumps(record | {"c": record["c"] - 11 * 60_000}))
    pool.redis.hset(f"{pool.slots.ledger.prefix}watched", "since", 0)  # runs have observed the pool since
    pool.run()
    live = {pod["metadata"]["uid"] for pod in pool.pods() if "deletionTimestamp" not in pod["metadata"]}
    assert pool.slots.record("j").uid in live
    assert len({*stored} & live) == 1
    assert any("it has not been ready for 11 min" in event["message"] for event in pool.events())


class Later(ServerClock):
    """A minute ahead of another clock."""

    def __init__(self, clock: ServerClock) -> None:
        super().__init__()
        self._clock = clock

    def now(self) -> datetime:
        return self._clock.now() + timedelta(minutes=1)


def a_minute_later(api: KubeApi) -> KubeApi:
    later = KubeApi(api.connection, api.timeout, api.agent)
    later.clock = Later(api.clock)
    return later


@pytest.mark.row("KU-12")
def test_pods_that_nobody_confirms_to_have_ended_block_no_pool(make_pool: MakePool) -> None:
    """Rule moves. Field bug KU-12: at its maximum the pool made no pod, and its jobs stayed where nothing started."""
    pool = make_pool(minReplicas=2, maxReplicas=2)
    pool.settle()
    gone = pool.names()
    pool.slots.submit("placed")
    for name in gone:
        pool.api.patch(pool.pod_path(name), {"metadata": {"finalizers": ["test.example/node"]}})
        pool.api.delete(pool.pod_path(name), {"gracePeriodSeconds": 0})
    pool.run()
    assert pool.slots.state("placed") == "waiting"
    assert pool.names() == gone, "they may still end in time"
    pool.services = replace(pool.services, kube=a_minute_later(pool.api))
    pool.run()
    assert len(pool.names() - gone) == 2
    (lost,) = [c for c in pool.status()["conditions"] if c["type"] == "PodsConfirmed"]
    assert (lost["status"], lost["reason"]) == ("False", "PodsLost")
    assert lost["message"].startswith("2 pods have terminated for longer than their grace: ")
    assert all(name in lost["message"] for name in gone)
    for name in gone:
        pool.api.patch(pool.pod_path(name), {"metadata": {"finalizers": None}})
    pool.settle()
    assert pool.slots.state("placed") == "running"
    assert "PodsConfirmed" not in {c["type"] for c in pool.status()["conditions"]}
