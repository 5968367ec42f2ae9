"""Faults of pod pools: pods that the slot ledger, or the list of pods, does not show as they are."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from redis import Redis

from domain.kubernetes.names import POOL
from events.kube.api import KubeApi, KubeError
from tests.integration.pod_pools.conftest import MakePool
from tests.support.jobs.slot_world import Runner
from workers.stores.pool_names import PodPoolNames


@pytest.mark.row("SL-13", "SD-20")
def test_pods_older_than_ready_timeout_outlive_the_loss_of_redis(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=1, readyTimeout="10m")
    pool.slots.submit("j", "apply")
    pool.settle()
    assert pool.slots.state("j") == "running"
    before = pool.names()
    pool.change(readyTimeout="3s")
    time.sleep(4)  # ages are in whole seconds
    pool.redis.flushall()
    pool.claim()
    pool.run()
    live = {pod["metadata"]["name"] for pod in pool.pods() if "deletionTimestamp" not in pod["metadata"]}
    assert live == before


@pytest.mark.row("SL-05")
def test_a_pod_that_lost_its_label_keeps_its_job(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=2, maxReplicas=2)
    pool.settle()
    pool.slots.submit("j", "apply")
    pool.settle()
    uid = pool.slots.record("j").uid
    (pod,) = (p for p in pool.pods() if p["metadata"]["uid"] == uid)
    pool.api.patch(pool.pod_path(pod["metadata"]["name"]), {"metadata": {"labels": {POOL: None}}})
    pool.run()
    pool.slots.deliver_all()
    assert pool.slots.record("j").uid == uid


@pytest.mark.row("SL-05")
def test_a_pool_made_anew_leaves_jobs_to_the_pods_of_the_old_one_while_they_run(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=2)
    pool.slots.submit("j", "apply")
    pool.settle()
    uid = pool.slots.record("j").uid
    body = pool.api.get(f"{pool.path}/runners")
    for pod in pool.pods():  # as an orphaning deletion would, which needs a collector
        pool.api.patch(pool.pod_path(pod["metadata"]["name"]), {"metadata": {"ownerReferences": None}})
    pool.api.delete(f"{pool.path}/runners")
    pool.api.create(pool.path, {k: body[k] for k in ("apiVersion", "kind", "spec")} | {"metadata": {"name": "runners"}})
    for _ in range(2):
        pool.run()
        pool.kubelet()
        pool.slots.deliver_all()
    assert pool.slots.record("j").uid == uid


@pytest.mark.row("SL-05")
def test_a_job_that_only_the_new_slots_take_gets_one_in_a_pool_at_its_maximum(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=1, slots=[{"accepts": ["plan"]}])
    pool.run()
    for pod in pool.pods():
        uid = pod["metadata"]["uid"]
        pool.slots.runners[uid] = Runner(uid, layout=(",plan,",), pod=pod["metadata"]["name"])
    pool.settle()
    pool.change(slots=[{}])
    pool.slots.submit("j", "apply")
    pool.settle(6)
    assert pool.slots.state("j") == "running"


@pytest.mark.row("SD-24")
def test_pods_that_boot_side_by_side_are_one_try(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=5, maxReplicas=6, readyTimeout="1s")
    pool.run()
    time.sleep(2.1)  # ages are in whole seconds
    pool.run()
    for name in pool.names():
        pool.end(name)
    pool.change(readyTimeout="10m")
    pool.let_pauses_pass()
    pool.settle()
    assert pool.views() == ["open"] * 5


class StandsStill(KubeApi):
    """An API whose first list of pods is followed by a long pause, in which something `happens`."""

    def __init__(self, api: KubeApi, happens: Callable[[], None]) -> None:
        super().__init__(api.connection, api.timeout, api.agent)
        self._happens = [happens]

    def list(self, path: str, **query: Any) -> dict[str, Any]:
        page = super().list(path, **query)
        if self._happens:
            self._happens.pop()()
        return page


@pytest.mark.row("SL-05", "SL-22", "SL-29")
def test_a_run_that_listed_pods_long_ago_takes_no_job_from_a_newer_pod(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=3)
    pool.settle()

    def others_work() -> None:
        pool.services = whole
        pool.change(minReplicas=2)
        for _ in range(4):
            pool.lease_ends()
            pool.run()
            pool.kubelet()
        for n in range(2):
            pool.slots.submit(f"j{n}", "apply")
        pool.slots.deliver_all()

    whole = pool.services
    pool.services = replace(whole, kube=StandsStill(pool.api, others_work))
    pool.run()
    pool.slots.deliver_all()
    assert [pool.slots.state(f"j{n}") for n in range(2)] == ["running", "running"]


GOOD = {"name": "runner", "image": "runner:1"}


@pytest.mark.parametrize(
    "template",
    [
        {"metadata": "x", "spec": {"containers": [GOOD]}},
        {"metadata": {"labels": ["x"]}, "spec": {"containers": [GOOD]}},
        {"spec": {"containers": ["x"]}},
        {"spec": {"containers": {"x": 1}}},
        {"spec": {"containers": [GOOD | {"env": ["x"]}]}},
        {"spec": "x"},
    ],
)
def test_a_template_of_a_wrong_shape_is_told_in_the_status(make_pool: MakePool, template: dict[str, object]) -> None:
    pool = make_pool(minReplicas=1)
    pool.settle()
    try:
        pool.change(template=template)
    except KubeError:
        return  # a server that knows it better
    pool.run()
    (valid,) = [c for c in pool.status()["conditions"] if c["type"] == "Valid"]
    assert valid["status"] == "False"


@pytest.mark.row("SD-06")
def test_a_pool_made_anew_has_not_the_size_of_the_old_one(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=4)
    pool.settle()
    body = pool.api.get(f"{pool.path}/runners")
    pool.api.delete(f"{pool.path}/runners")
    pool.run()
    for name in pool.names():
        pool.end(name)
    spec = body["spec"] | {"minReplicas": 0}
    pool.api.create(
        pool.path, {k: body[k] for k in ("apiVersion", "kind")} | {"metadata": {"name": "runners"}, "spec": spec}
    )
    pool.run()
    assert pool.pods() == []


class Sleeps(PodPoolNames):
    """The run that takes a name off sleeps then, and something `happens`."""

    def __init__(self, redis: Redis, happens: Callable[[], None]) -> None:
        super().__init__(redis)
        self._happens = [happens]

    def remove(self, name: str) -> None:
        super().remove(name)
        if self._happens:
            self._happens.pop()()


@pytest.mark.row("SL-05")
def test_a_run_that_saw_its_pool_deleted_long_ago_leaves_the_pods_of_a_new_one_alone(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=1)
    body = pool.api.get(f"{pool.path}/runners")
    whole = pool.services

    def others_work() -> None:
        pool.services = whole
        again = {k: body[k] for k in ("apiVersion", "kind", "spec")} | {"metadata": {"name": "runners"}}
        pool.api.create(pool.path, again)
        for _ in range(4):
            pool.lease_ends()
            pool.run()
            pool.kubelet()
        pool.slots.submit("j", "apply")
        pool.slots.deliver_all()

    pool.api.delete(f"{pool.path}/runners")
    pool.services = replace(whole, names=Sleeps(pool.redis, others_work), call_time=timedelta(hours=1))
    pool.run()
    assert pool.views() == ["open"]


@pytest.mark.row("SL-22", "SD-20")
def test_silence_while_no_worker_looked_on_is_no_fault_of_the_runner(make_pool: MakePool) -> None:
    """Its Redis user was lost as well, say: the run that makes the user anew must not remove the pod."""
    pool = make_pool(minReplicas=1, maxReplicas=1)
    pool.slots.submit("j", "apply")
    pool.settle()
    uid = pool.slots.record("j").uid
    pool.fall_silent(uid)
    long_ago = pool.redis.time()[0] * 1000 - 600_000
    pool.redis.hset(f"{pool.slots.ledger.prefix}watched", mapping={"since": 0, "last": long_ago})
    pool.run()
    pool.run()
    assert [pod["metadata"]["uid"] for pod in pool.pods() if "deletionTimestamp" not in pod["metadata"]] == [uid]
    assert pool.slots.record("j").uid == uid


def test_why_the_api_server_refuses_a_pod_is_said_until_it_takes_one(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, template={"spec": {"containers": [{"image": "runner:1"}]}})

    def ready_condition() -> dict[str, Any]:
        (condition,) = (item for item in pool.status()["conditions"] if item["type"] == "Ready")
        return dict(condition)

    pool.run()
    assert (ready_condition()["status"], ready_condition()["reason"]) == ("False", "PodsRefused")
    assert "spec.containers[0].name" in ready_condition()["message"]
    assert pool.status()["reason"] == ready_condition()["message"]
    pool.change(template={"spec": {"containers": [{"name": "runner", "image": "runner:1"}]}})
    pool.settle()
    assert (ready_condition()["status"], pool.status()["readyReplicas"]) == ("True", 1)
