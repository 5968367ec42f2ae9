"""What a run of a pool asks of Kubernetes, and in which order: claims first, and for the rest what has changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from domain.kubernetes.names import PREFIX
from domain.kubernetes.objects import Pod
from events.kube.api import Unavailable
from events.protocol.pool_pod_changes import PodChange, PoolPodChanges
from tests.integration.pod_pools.conftest import MakePool
from tests.support.faults.interposed_kube import InterposedKube, RecordedKube
from tests.support.pods.meanwhile import AfterList, live
from tests.support.pods.pod_pool_world import PodPoolWorld
from tests.support.pods.warm import offered, stands, waits, woken
from workers.pod_pools.pod_cache import PodCache

MANY = 60


def warm(pool: PodPoolWorld) -> None:
    """Let the pool have all its pods, each of them ready and open."""
    pool.run()
    for name in pool.names():
        pool.ready(name, "True")
    pool.run()


def remembered(pool: PodPoolWorld) -> RecordedKube:
    """Let runs of the pool remember its pods, as those of one process do. The first one lists them."""
    kube = RecordedKube(pool.api)
    cache = PodCache(PoolPodChanges(pool.redis), timedelta(hours=1))
    pool.services = replace(pool.services, kube=kube, pod_cache=cache)
    pool.run()
    return kube


def tell(pool: PodPoolWorld, name: str) -> None:
    """Record what the pod is now, as the publisher does."""
    pool.services.pod_cache.changes.record([PodChange(Pod(pool.api.get(pool.pod_path(name))), gone=False)])


def asked_by_run(pool: PodPoolWorld, kube: RecordedKube) -> list[str]:
    """Requests of one run, but those about the pool itself."""
    kube.sent.clear()
    pool.run()
    return [request for request in kube.sent if "/podpools/" not in request]


@pytest.mark.row("WC-50")
def test_a_run_without_a_change_asks_nothing_of_any_pod(make_pool: MakePool) -> None:
    pool = make_pool(maxIdle=MANY, maxReplicas=2 * MANY, slots=[])
    warm(pool)
    kube = remembered(pool)
    assert len(offered(pool)) == 50, "a page"
    kube.sent.clear()
    for _ in range(3):
        pool.run()
    assert kube.sent == []


@pytest.mark.row("WC-50")
def test_a_run_asks_only_about_the_pod_that_has_changed(make_pool: MakePool) -> None:
    pool = make_pool(maxIdle=MANY, maxReplicas=2 * MANY, slots=[])
    warm(pool)
    kube, before = remembered(pool), live(pool)
    gone = Pod(pool.api.get(pool.pod_path(min(before))))
    pool.end(gone.name)
    pool.services.pod_cache.changes.record([PodChange(gone, gone=True)])
    asked = asked_by_run(pool, kube)
    assert [request.partition(" ")[0] for request in asked] == ["GET", "POST"], "the one that is gone, and a new one"
    (new,) = live(pool) - before
    pool.ready(new, "True")
    tell(pool, new)
    assert asked_by_run(pool, kube) == [f"PATCH {pool.pod_path(new)}"]
    assert stands(pool) == {"open": MANY, "idle": MANY}


def test_the_answers_of_a_run_reach_other_processes_before_the_publisher_does(make_pool: MakePool) -> None:
    pool = make_pool(maxIdle=2, maxReplicas=4, slots=[])
    warm(pool)
    kube = remembered(pool)
    first = pool.services.pod_cache
    other = PodCache(PoolPodChanges(pool.redis), timedelta(hours=1))
    pool.services = replace(pool.services, pod_cache=other)
    pool.run()
    pool.change(maxIdle=3)
    pool.run()  # it lists, because the spec is another one, and creates a pod
    pool.services = replace(pool.services, pod_cache=first)
    pool.run()
    assert len(live(pool)) == 3
    assert asked_by_run(pool, kube) == []


@pytest.mark.row("WC-50")
def test_entries_that_were_removed_make_a_run_list(make_pool: MakePool) -> None:
    """Rule contiguous."""
    pool = make_pool(maxIdle=2, maxReplicas=4, slots=[])
    warm(pool)
    kube = remembered(pool)
    for key in pool.redis.keys("{poolpods:*"):
        pool.redis.xtrim(key, maxlen=0, approximate=False)
    assert [request.partition(" ")[0] for request in asked_by_run(pool, kube)] == ["GET"]
    assert asked_by_run(pool, kube) == []


@pytest.mark.row("WC-50")
def test_a_list_of_the_publisher_makes_a_run_list(make_pool: MakePool) -> None:
    """Rule countlist."""
    pool = make_pool(maxIdle=2, maxReplicas=4, slots=[])
    warm(pool)
    kube = remembered(pool)
    pool.services.pod_cache.changes.count_list()
    assert [request.partition(" ")[0] for request in asked_by_run(pool, kube)] == ["GET"]
    assert asked_by_run(pool, kube) == []


@pytest.mark.row("HO-03", "WC-50")
def test_a_pod_of_any_size_takes_little_of_redis(make_pool: MakePool) -> None:
    pool = make_pool(maxIdle=1, maxReplicas=4, slots=[])
    warm(pool)
    kube = remembered(pool)
    (name,) = pool.names()
    for annotation in ("example.com/large", f"{PREFIX}large"):
        pool.api.patch(pool.pod_path(name), {"metadata": {"annotations": {annotation: "x" * 100_000}}})
        tell(pool, name)
    asked = asked_by_run(pool, kube)
    assert [request.partition(" ")[0] for request in asked] == ["GET"], "the pod is too large for an entry: a list"
    (stream,) = pool.redis.keys("{poolpods:*")
    entries: Any = pool.redis.xrange(stream)
    assert max(len(value) for _, fields in entries for value in fields.values()) < 3000


def test_a_list_that_fails_is_not_remembered(make_pool: MakePool) -> None:
    pool = make_pool(maxIdle=2, maxReplicas=4, slots=[])
    warm(pool)
    before, whole = live(pool), pool.services

    def fails(_: str) -> None:
        raise Unavailable(503, "ServiceUnavailable", "later")

    cache = PodCache(PoolPodChanges(pool.redis), timedelta(hours=1))
    pool.services = replace(whole, kube=InterposedKube(pool.api, "GET", "/pods", fails), pod_cache=cache)
    pool.run()
    kube = RecordedKube(pool.api)
    pool.services = replace(whole, kube=kube, pod_cache=cache)
    assert [request.partition(" ")[0] for request in asked_by_run(pool, kube)] == ["GET"]
    assert live(pool) == before


def test_what_a_replaced_publisher_says_late_changes_nothing(make_pool: MakePool) -> None:
    """Rule newestpod."""
    pool = make_pool(maxIdle=1, maxReplicas=4, slots=[])
    pool.run()
    (name,) = pool.names()
    early = Pod(pool.api.get(pool.pod_path(name)))
    pool.ready(name, "True")
    pool.run()
    kube = remembered(pool)
    pool.services.pod_cache.changes.record([PodChange(early, gone=False)])
    assert asked_by_run(pool, kube) == []
    assert offered(pool) == [name]


def test_a_pod_that_has_ended_does_not_come_back_by_what_is_said_late(make_pool: MakePool) -> None:
    """Rule newestpod. A run appends what it has written when it ends, and the pod may have ended before."""
    pool = make_pool(maxIdle=1, maxReplicas=4, slots=[])
    pool.run()
    kube = remembered(pool)
    (name,) = pool.names()
    changes = pool.services.pod_cache.changes
    early = Pod(pool.api.get(pool.pod_path(name)))
    pool.api.delete(pool.pod_path(name), {"gracePeriodSeconds": 0})
    metadata = {**early.metadata, "resourceVersion": str(early.version + 1)}
    changes.record([PodChange(Pod({**early.raw, "metadata": metadata}), gone=True)])
    assert [request.partition(" ")[0] for request in asked_by_run(pool, kube)].count("POST") == 1
    changes.record([PodChange(early, gone=False)])
    pool.run()
    (cached,) = pool.services.pod_cache.pools.values()
    assert {pod.name for pod in cached.pods.values()} == pool.names()


class DyingCache(PodCache):
    """Of a process that dies at the end of its run."""

    def keep(self, *_: object) -> None:
        raise RuntimeError("dead")


def test_other_processes_know_a_new_pod_before_its_name_is_free(make_pool: MakePool) -> None:
    """Else a process that dies after it has created a pod makes another one create a second pod."""
    pool = make_pool(maxIdle=0, maxReplicas=4, slots=[])
    changes = PoolPodChanges(pool.redis)
    lives, dies = PodCache(changes, timedelta(hours=1)), PodCache(changes, timedelta(hours=1))
    whole = pool.services
    for cache in (lives, dies):
        pool.services = replace(whole, pod_cache=cache)
        pool.run()
    waits(pool, "claim")
    pool.services = replace(whole, pod_cache=DyingCache(changes, timedelta(hours=1), pools=dies.pools))
    pool.run()
    assert len(pool.names()) == 1
    pool.services = replace(whole, pod_cache=lives)
    pool.run()
    assert len(pool.names()) == 1


def test_a_change_while_a_run_lists_is_known_to_the_next(make_pool: MakePool) -> None:
    """Rule beginfirst."""
    pool = make_pool(maxIdle=1, maxReplicas=4, slots=[])
    pool.run()
    (name,) = pool.names()
    cache = PodCache(PoolPodChanges(pool.redis), timedelta(hours=1))

    def becomes_ready(_: str) -> None:
        pool.ready(name, "True")
        cache.changes.record([PodChange(Pod(pool.api.get(pool.pod_path(name))), gone=False)])

    whole = pool.services
    pool.services = replace(whole, kube=AfterList(pool.api, becomes_ready), pod_cache=cache)
    pool.run()
    kube = RecordedKube(pool.api)
    pool.services = replace(whole, kube=kube, pod_cache=cache)
    assert asked_by_run(pool, kube) == [f"PATCH {pool.pod_path(name)}"]
    assert offered(pool) == [name]


@pytest.mark.row("WC-51")
def test_claims_are_served_before_the_first_write_of_another_pod(make_pool: MakePool) -> None:
    """Fifty pods need their label, three are warm, and ten claims wait."""
    pool = make_pool(maxIdle=3, maxReplicas=90, slots=[])
    warm(pool)
    pool.change(maxIdle=53)
    pool.run()
    for name in pool.names():
        pool.ready(name, "True")
    for number in range(10):
        waits(pool, f"claim-{number}", since=f"2026-01-{number + 1:02}")
    done: list[tuple[int, int, int]] = []
    kube = InterposedKube(
        pool.api, "PATCH", "/pods/", lambda _: done.append((len(offered(pool)), len(woken(pool)), len(live(pool))))
    )
    pool.services = replace(pool.services, kube=kube)
    pool.run()
    assert done == [(3, 3, 63)], "three are offered, three claims woken, and ten pods made"
    assert len(woken(pool)) == 10


@pytest.mark.row("WC-51")
def test_a_pod_that_becomes_warm_is_offered_before_the_others_are_written(make_pool: MakePool) -> None:
    pool = make_pool(maxIdle=20, maxReplicas=90, slots=[])
    pool.run()
    for name in pool.names():
        pool.ready(name, "True")
    waits(pool, "claim")
    writes: list[tuple[int, bool]] = []
    kube = InterposedKube(
        pool.api, "PATCH", "/pods/", lambda _: writes.append((len(offered(pool)), bool(woken(pool)))), times=99
    )
    pool.services = replace(pool.services, kube=kube)
    pool.run()
    assert writes[:5] == [(0, False)] * 4 + [(4, True)]
    assert len(offered(pool)) == 20


@pytest.mark.row("WC-51")
def test_a_claim_that_begins_to_wait_is_not_kept_waiting_by_the_work_for_pods(make_pool: MakePool) -> None:
    pool = make_pool(maxIdle=20, maxReplicas=90, slots=[])
    pool.run()
    for name in pool.names():
        pool.ready(name, "True")
    kube = InterposedKube(pool.api, "PATCH", "/pods/", lambda _: waits(pool, "claim"))
    pool.services = replace(pool.services, kube=kube)
    pool.run()
    assert len(offered(pool)) == 4, "the rest is for the next run"
    assert pool.redis.hexists("{queue}dirty", pool.key)
    pool.run()
    assert (len(offered(pool)), len(live(pool)), woken(pool) >= {f"podclaim/{pool.namespace}/claim"}) == (20, 21, True)
