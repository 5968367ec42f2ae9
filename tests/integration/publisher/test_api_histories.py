"""The API's versions go back under a publisher, or while none runs: whatever is there now is what Redis has."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from compose.sandbox.kube.real import RealKube
from compose.sandbox.kube.server import KubeServer
from compose.sandbox.kube.small import SmallKube
from domain.kubernetes.names import POOL
from events.kube.api import KubeApi
from events.protocol.pool_pod_changes import PodChange, PoolPodChanges, StreamPosition
from tests.support.pods.pods import failed_event, pod
from tests.support.servers.publishing import IdleWorker, publishing
from tests.support.servers.scripted_watch import PODS, POOL_PODS, ScriptedApi, version_of
from tests.support.waiting import eventually

pytestmark = pytest.mark.row("KU-11")
A, B, C, D = (f"pod/games/{name}" for name in "abcd")
PATH = "/api/v1/namespaces/games/pods"
EVENTS = "/api/v1/events"


@pytest.fixture
def server(kube_kind: str, tmp_path: Path) -> Iterator[KubeServer]:
    """Its own: no other test may be taken back."""
    server: KubeServer = RealKube(tmp_path / "kube") if kube_kind == "real" else SmallKube(tmp_path / "kube")
    server.start()
    yield server
    server.stop()


def create(api: KubeApi, name: str) -> dict[str, Any]:
    body = pod(name, ports="7777/UDP@arena")
    del body["metadata"]["uid"], body["status"]
    return api.create(PATH, body)


def ask_for(api: KubeApi, name: str, ports: str) -> None:
    api.patch(f"{PATH}/{name}", {"metadata": {"annotations": {"berthmaster.dev/ports": ports}}})


def asked(worker: IdleWorker, key: str) -> str:
    known = worker.snapshot(key)
    return str(known.body["annotations"]["berthmaster.dev/ports"]) if known and not known.gone else ""


def test_after_an_etcd_was_restored_from_a_backup_the_publisher_follows_what_is_there(
    server: KubeServer, redis_url: str, worker: IdleWorker
) -> None:
    api = server.api()
    api.create("/api/v1/namespaces", {"metadata": {"name": "games"}})
    first = create(api, "a")
    create(api, "b")
    scope: dict[str, Any] = {"namespace": "games", "lease": {"namespace": "games"}}
    with publishing(server.settings(), redis_url, **scope) as running:
        assert set(worker.living()) == {A, B}
        server.backup()
        api.delete(f"{PATH}/a", {"gracePeriodSeconds": 0})
        again = create(api, "a")
        create(api, "c")
        ask_for(api, "b", "1/TCP@arena")
        eventually(lambda: asked(worker, B) == "1/TCP@arena" and {A, B, C} == set(worker.living()))
        assert (known := worker.snapshot(A))
        assert known.uid == again["metadata"]["uid"]
        for key in (A, B, C):
            worker.run(key)

        server.restore()
        create(api, "d")
        eventually(lambda: set(worker.living()) == {A, B, D}, 60)
        assert (known := worker.snapshot(A))
        assert known.uid == first["metadata"]["uid"]
        assert asked(worker, B) == "7777/UDP@arena"
        ask_for(api, "b", "2/TCP@arena")
        eventually(lambda: asked(worker, B) == "2/TCP@arena")
        eventually(lambda: running.stamped and running.probe("/readyz")[0] == 200)
        eventually(lambda: running.metric("api_histories_total") == 1)
        events = api.list(EVENTS, fieldSelector="involvedObject.kind=Lease")["items"]
        assert [event["reason"] for event in events] == ["KubernetesVersionsWentBack"]
        assert "etcd" in events[0]["message"]


def test_what_was_restored_while_no_publisher_ran_is_found_by_its_first_list(
    api: ScriptedApi, redis_url: str, worker: IdleWorker
) -> None:
    """The watermark is gone with the process: what Redis has stored is higher than the list."""
    api.world.put(PODS, pod("a", uid="u1"))
    restore = api.world.backup()
    with publishing(api.url, redis_url):
        api.world.delete(PODS, "games/a")
        api.world.put(PODS, pod("a", uid="u2"))
        api.world.put(PODS, pod("b"))
        eventually(lambda: set(worker.living()) == {A, B})
    restore()
    with publishing(api.url, redis_url) as running:
        assert (known := worker.snapshot(A))
        assert (known.uid, known.history, set(worker.living())) == ("u1", 2, {A})
        eventually(lambda: running.metric("api_histories_total") == 1)


def test_versions_that_were_overtaken_before_a_list_came_are_found_by_one_object(
    api: ScriptedApi, redis_url: str, worker: IdleWorker
) -> None:
    """Rule newhistory: no version of a list is below anything known, but a pod is older than it was."""
    stored = api.world.put(PODS, pod("a", uid="u1"))
    restore = api.world.backup()
    with publishing(api.url, redis_url):
        api.world.put(PODS, pod("a", uid="u1", ports="1/TCP@arena"))
        eventually(lambda: asked(worker, A) == "1/TCP@arena")
    restore()
    for number in range(50):
        api.world.put(PODS, pod(f"other-{number}", ports=None))
    with publishing(api.url, redis_url):
        assert (known := worker.snapshot(A))
        assert (known.version, asked(worker, A)) == (version_of(stored), "7777/UDP@arena")


def test_a_history_that_was_noticed_is_told_once(api: ScriptedApi, redis_url: str, worker: IdleWorker) -> None:
    api.world.put(PODS, pod("a"))
    restore = api.world.backup()
    with publishing(api.url, redis_url) as running:
        api.world.put(PODS, pod("b"))
        eventually(lambda: set(worker.living()) == {A, B})
        restore()
        api.cut()
        eventually(lambda: set(worker.living()) == {A} and running.stamped)
        api.cut()
        api.world.put(PODS, pod("c"))
        eventually(lambda: set(worker.living()) == {A, C})
        eventually(lambda: running.metric("api_histories_total") == 1)
        eventually(lambda: running.metric("epochs_total", reason="new_history") == 1)
        told = [(event["subject"], event["data"]["history"]) for event in worker.told()]
        assert told == [(A, 1), (B, 1), (A, 2), (B, 2), (C, 2)]


def test_pods_of_pools_and_failures_are_followed_into_a_new_history(
    api: ScriptedApi, redis_url: str, worker: IdleWorker
) -> None:
    """Neither is stored: versions of the watch and of the last failure are all that there is to compare."""
    restore, changes = api.world.backup(), PoolPodChanges(worker.redis)
    with publishing(api.url, redis_url) as running:
        eventually(lambda: api.count(EVENTS, watch=True) and api.count(POOL_PODS, watch=True))
        position = changes.begin("games/runners")
        api.world.put(EVENTS, failed_event("x", name="e1"))
        eventually(lambda: "uid-of-e1" in str(worker.told()))
        for _ in range(5):
            api.world.put("/none", pod("x"))
        api.world.put(POOL_PODS, pod("p", ports=None, labels={POOL: "runners"}))
        eventually(lambda: "podpool/games/runners" in worker.ready())
        assert recorded(changes.since("games/runners", position)) == ["p"]
        restore()
        api.world.put(EVENTS, failed_event("y", name="e2"))
        api.world.put(POOL_PODS, pod("q", ports=None, labels={POOL: "others"}))
        api.cut()
        eventually(lambda: "podpool/games/others" in worker.ready() and "uid-of-e2" in str(worker.told()))
        eventually(lambda: running.metric("api_histories_total") == 1)
        assert changes.since("games/runners", position) is None, "the publisher has listed"


def recorded(read: tuple[Collection[PodChange], StreamPosition] | None) -> list[str]:
    """The names of the pods that have changed."""
    assert read
    return [change.pod.name for change in read[0]]
