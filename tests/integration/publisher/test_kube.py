"""The publisher on API servers that are none of its own tests': the sandbox's and a real kube-apiserver."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest

from events.publisher.resources import pods
from events.publisher.watch import Listing, ResourceWatch
from events.settings import WatchSettings
from tests.fixtures.kube import Kube, SandboxKube
from tests.support.pods.pods import failed_event, pod, port_pool
from tests.support.servers.publishing import FAST_WATCH, IdleWorker, Publishing, publishing, settings
from tests.support.waiting import eventually

POOLS = "/apis/berthmaster.dev/v1alpha1/portpools"


def create(kube: Kube, name: str, ports: str | None = "7777/UDP@arena") -> dict[str, Any]:
    """A pod without a node: a deletion takes it away at once."""
    body = pod(name, namespace=kube.namespace, ports=ports)
    del body["metadata"]["uid"], body["status"]
    return kube.api.create(kube.path("pods"), body)


def version(obj: dict[str, Any]) -> int:
    return int(obj["metadata"]["resourceVersion"])


def scoped(kube: Kube) -> dict[str, Any]:
    return {"namespace": kube.namespace, "lease": {"namespace": kube.namespace}}


def key(kube: Kube, name: str) -> str:
    return f"pod/{kube.namespace}/{name}"


@pytest.mark.row("EV-01", "FZ-08")
def test_redis_follows_creation_change_deletion_and_force_deletion(
    kube: Kube, redis_url: str, worker: IdleWorker
) -> None:
    created = create(kube, "a")
    with publishing(kube.settings, redis_url, **scoped(kube)) as running:
        assert worker.living() == {key(kube, "a"): version(created)}
        create(kube, "plain", ports=None)
        create(kube, "b")
        changed = kube.api.patch(kube.path("pods", "a"), {"metadata": {"annotations": {"berthmaster.dev/ports": "x"}}})
        eventually(lambda: set(worker.living()) == {key(kube, "a"), key(kube, "b")})
        eventually(lambda: worker.living()[key(kube, "a")] == version(changed))
        kube.api.delete(kube.path("pods", "a"))
        kube.api.delete(kube.path("pods", "b"), {"gracePeriodSeconds": 0})
        eventually(lambda: not worker.living())
        gone = worker.snapshot(key(kube, "a"))
        assert gone
        assert gone.uid == created["metadata"]["uid"]
        assert gone.version > version(changed)
        assert running.terms == 1


@pytest.mark.row("FZ-05", "EV-04")
def test_what_changed_while_no_publisher_ran_is_found_by_the_list(
    kube: Kube, redis_url: str, worker: IdleWorker
) -> None:
    create(kube, "goes")
    create(kube, "opts-out")
    with publishing(kube.settings, redis_url, **scoped(kube)):
        assert len(worker.living()) == 2
    kube.api.delete(kube.path("pods", "goes"))
    kube.api.patch(kube.path("pods", "opts-out"), {"metadata": {"annotations": {"berthmaster.dev/ports": None}}})
    with publishing(kube.settings, redis_url, **scoped(kube)) as running:
        assert running.process.lease.number == 1
        assert set(worker.living()) == {key(kube, "opts-out")}
        assert (seen := worker.snapshot(key(kube, "opts-out")))
        assert seen.body["annotations"] == {}


@pytest.mark.row("EV-01")
def test_a_watch_from_a_version_that_is_too_old_is_listed_again(kube: Kube) -> None:
    create(kube, "a")
    stop = Event()
    watch = ResourceWatch(kube.api, pods(kube.namespace), WatchSettings(**FAST_WATCH), stop)
    changes = watch.follow()
    first = next(changes)
    assert isinstance(first, Listing)
    watch.version = 1
    kube.server.compact()
    again = next(change for change in changes if isinstance(change, Listing))
    assert (again.reason, len(again.items)) == ("expired", 1)


def test_bookmarks_keep_a_quiet_watch_alive(kube_sandbox: SandboxKube, redis_url: str) -> None:
    watch = {"inactivity_timeout": "2s", "resync_every": "1h"}
    with publishing(kube_sandbox.settings, redis_url, **{**scoped(kube_sandbox), "watch": watch}) as running:
        before = running.process.publisher.pulses()[0][1].at
        eventually(lambda: running.process.publisher.pulses()[0][1].at > before + 2.5)
        assert running.metric("relists_total", resource="pods", reason="stalled") == 0


@pytest.mark.usefixtures("crds")
def test_pools_are_followed_with_their_spec(kube: Kube, redis_url: str, worker: IdleWorker) -> None:
    grows = {"enabled": True, "maxLoadBalancers": 1, "parameters": {"subnets": ["subnet-1"]}}
    body = port_pool(f"pool-{kube.namespace}", region="eu-central-1", vpcId="vpc-1", autoCreate=grows)
    eventually(lambda: kube.server.serves(POOLS))
    pool = kube.api.create(POOLS, body)
    name = f"portpool/{pool['metadata']['name']}"
    try:
        with publishing(kube.settings, redis_url, **scoped(kube)):
            eventually(lambda: worker.living().get(name) == version(pool))
            assert (seen := worker.snapshot(name))
            assert seen.body["spec"]["startPort"] == 7000
    finally:
        kube.api.delete(f"{POOLS}/{pool['metadata']['name']}")


def test_an_allocation_failure_of_another_controller_is_told(kube: Kube, redis_url: str, worker: IdleWorker) -> None:
    create(kube, "a")
    with publishing(kube.settings, redis_url, **scoped(kube)):
        event = failed_event("a", namespace=kube.namespace)
        del event["metadata"]["uid"]
        kube.api.create(kube.path("events"), event)
        eventually(lambda: [e["data"].get("message") for e in worker.told()][1:] == ["no port left"])


def test_an_api_server_that_restarts_is_followed_again(
    kube_sandbox: SandboxKube, redis_url: str, worker: IdleWorker
) -> None:
    kube = kube_sandbox
    with publishing(kube.settings, redis_url, **scoped(kube)) as running:
        kube.server.fault("cut")
        create(kube, "a")
        eventually(lambda: set(worker.living()) == {key(kube, "a")}, 90)
        assert running.terms == 1


@pytest.mark.row("EV-18")
def test_a_publisher_without_permission_says_so_and_is_not_ready(kube: Kube, redis_url: str) -> None:
    powerless = kube.server.settings(token=kube.server.other_token)
    running = Publishing(settings(powerless, redis_url, **scoped(kube)))
    try:
        eventually(lambda: running.probe("/readyz") == (503, "the Lease cannot be reached\n"))
    finally:
        assert running.stop() == 0


def test_two_publishers_hold_the_lease_in_turn(kube: Kube, redis_url: str, worker: IdleWorker) -> None:
    with (
        publishing(kube.settings, redis_url, **scoped(kube)) as first,
        publishing(kube.settings, redis_url, stamped=False, **scoped(kube)) as second,
    ):
        eventually(lambda: second.probe("/readyz") == (200, "standing by\n"))
        first.stop()
        eventually(lambda: second.stamped)
        create(kube, "a")
        eventually(lambda: set(worker.living()) == {key(kube, "a")})
        assert second.process.lease.number == first.process.lease.number + 1


def test_pages_of_a_list_are_one_list(kube: Kube, redis_url: str, worker: IdleWorker) -> None:
    names = [f"p{number}" for number in range(7)]
    for name in names:
        create(kube, name)
    with publishing(kube.settings, redis_url, **{**scoped(kube), "watch": {"page_size": 2}}):
        assert set(worker.living()) == {key(kube, name) for name in names}
