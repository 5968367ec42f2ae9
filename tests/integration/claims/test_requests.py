"""What a claim asks of Kubernetes and Redis: counts, because times depend on the machine."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from redis import Redis
from urllib3 import BaseHTTPResponse

from berthmaster.routing import pod_claim_key
from domain.kubernetes.names import (
    CLAIM_FINALIZER,
    CLAIMED_BY,
    DO_NOT_DISRUPT,
    PROTECTED,
    PROTECTED_BY,
    SAFE_TO_EVICT,
)
from domain.kubernetes.objects import KubeObject, Pod
from domain.pod_pools.protection import HONOURED
from events.kube.api import KubeApi
from events.protocol.claim_index import concerned, own_event_script
from events.workqueue.entries import as_mark
from tests.support.claims.claim_world import ClaimWorld
from tests.support.faults.interposed_kube import InterposedKube
from workers.kube.our_kinds import as_snapshot

BIND, AGAIN = 11, 5
"""Round trips to Redis: of a new claim's run until it is Bound, and of another run that finds nothing to do."""


class AskedKube(KubeApi):
    """Keeps the requests, without the part of the path that is the same for all."""

    def __init__(self, api: KubeApi) -> None:
        super().__init__(api.connection, api.timeout, api.agent)
        self.asked: list[str] = []

    def send(self, method: str, path: str, *args: Any, **options: Any) -> BaseHTTPResponse:
        self.asked.append(f"{method} {path.partition('/namespaces/')[2].partition('/')[2]}")
        return super().send(method, path, *args, **options)


def publish(world: ClaimWorld, name: str = "a") -> None:
    """Store the claim as it is now, as the publisher does."""
    mark = as_mark(pod_claim_key(world.namespace, name), as_snapshot(KubeObject(world.read(name))))
    assert world.queue.marks("1:test", [mark])


def round_trips(redis: Redis) -> int:
    """What the server has read so far, but for INFO, which connections send when time has passed."""
    info: Any = redis.info("all")
    return int(info["total_reads_processed"]) - int(info["cmdstat_info"]["calls"])


@pytest.mark.row("WC-49")
def test_a_new_claim_is_bound_by_as_few_requests_as_its_protocol_needs(world: ClaimWorld) -> None:
    world.pod("p1")
    world.claim()
    publish(world)
    kube = AskedKube(world.api)
    world.run(services=world.on(kube))
    assert world.phase() == "Bound"
    assert [request for request in kube.asked if request != "POST events"] == [
        "PATCH podclaims/a",  # the finalizer, before the claim has anything
        "PATCH pods/p1",  # in the version that the index has
        "PATCH podclaims/a",  # the pod's name
        "PATCH podclaims/a/status",
    ]


@pytest.mark.row("KU-14", "WC-49")
@pytest.mark.parametrize("own", [{}, {SAFE_TO_EVICT: "true"}])
@pytest.mark.parametrize("changed", [False, True])
def test_a_claim_protects_its_pod_by_the_write_that_binds_it(
    world: ClaimWorld, own: dict[str, str], changed: bool
) -> None:
    world.pod("p1", offer=False)
    for key, value in own.items():
        world.annotate("p1", key, value)
    world.offer(protects=True)
    if changed:
        world.annotate("p1", "example.com/changed", "since")
    world.claim()
    publish(world)
    kube = AskedKube(world.api)
    world.run(services=world.on(kube))
    assert world.phase() == "Bound"
    asked = [request for request in kube.asked if "pods/p1" in request]
    assert asked == ["PATCH pods/p1", "GET pods/p1", "PATCH pods/p1"] if changed else ["PATCH pods/p1"]
    meta = world.get("p1")["metadata"]
    assert meta["labels"][PROTECTED] == "true"
    assert {key: value for key, value in meta["annotations"].items() if key in HONOURED} == {**HONOURED, **own}
    assert set(meta["annotations"][PROTECTED_BY].split()) == HONOURED.keys() - own.keys()


@pytest.mark.row("KU-14", "HO-03")
def test_a_claim_reads_a_pod_whose_annotations_an_older_run_has_not_written_down(world: ClaimWorld) -> None:
    world.pod("p1", offer=False)
    world.annotate("p1", SAFE_TO_EVICT, "true")
    world.offer(protects=True)
    key = f"{world.slots['warm'].ledger.prefix}claimable-facts"
    stored: Any = world.redis.hgetall(key)
    for uid, facts in stored.items():
        world.redis.hset(key, uid, orjson.dumps({k: v for k, v in orjson.loads(facts).items() if k != "protection"}))
    world.claim()
    world.run()
    assert world.phase() == "Bound"
    assert world.get("p1")["metadata"]["annotations"][SAFE_TO_EVICT] == "true"


@pytest.mark.row("KU-14")
def test_a_claim_may_ask_for_an_annotation_that_protects(world: ClaimWorld) -> None:
    path = f"/apis/berthmaster.dev/v1alpha1/namespaces/{world.namespace}/podpools/warm"
    world.api.patch(path, {"spec": {"claims": {"allowedPodAnnotations": [DO_NOT_DISRUPT]}}})
    world.pod("p1", offer=False)
    world.offer(protects=True)
    world.claim(additionalPodAnnotations={DO_NOT_DISRUPT: "true"})
    world.run()
    assert world.condition("AdditionsApplied")["status"] == "True"
    notes = world.get("p1")["metadata"]["annotations"]
    assert (notes[DO_NOT_DISRUPT], notes[PROTECTED_BY]) == ("true", SAFE_TO_EVICT)


@pytest.mark.row("WC-04", "WC-49")
def test_a_pod_that_has_changed_since_it_was_offered_is_read_and_bound_by_the_same_run(world: ClaimWorld) -> None:
    world.pod("p1")
    world.annotate("p1", "example.com/changed", "since")
    world.claim()
    publish(world)
    kube = AskedKube(world.api)
    world.run(services=world.on(kube))
    assert (world.phase(), world.pod_of()) == ("Bound", "p1")
    assert kube.asked[1:4] == ["PATCH pods/p1", "GET pods/p1", "PATCH pods/p1"]


@pytest.mark.row("WC-49", "UI-13")
def test_a_claim_asks_redis_no_more_often_than_its_protocol_needs(world: ClaimWorld) -> None:
    for number, name in enumerate(("first", "a")):
        world.pod(f"p{number}")
        world.claim(name)
        publish(world, name)
    world.run("first")  # which loads the scripts
    before = round_trips(world.redis)
    world.run()
    bound = round_trips(world.redis)
    assert world.phase() == "Bound"
    world.run()
    again, touch = round_trips(world.redis), 1  # by the test
    assert (bound - before - touch, again - bound - touch) == (BIND, AGAIN)


@pytest.mark.row("WC-49")
def test_a_claim_that_has_changed_since_it_was_published_is_read_and_bound_by_the_same_run(world: ClaimWorld) -> None:
    world.pod("p1")
    world.claim()
    publish(world)
    world.api.patch(f"{world.claims_path()}/a", {"metadata": {"labels": {"changed": "since"}}})
    kube = AskedKube(world.api)
    world.run(services=world.on(kube))
    assert (world.phase(), world.pod_of()) == ("Bound", "p1")
    assert kube.asked[:3] == ["PATCH podclaims/a", "GET podclaims/a", "PATCH podclaims/a"]


@pytest.mark.row("WC-49")
def test_a_published_claim_keeps_the_finalizers_of_others(world: ClaimWorld) -> None:
    world.claim()
    world.api.patch(f"{world.claims_path()}/a", {"metadata": {"finalizers": ["example.com/mine"]}})
    publish(world)
    world.run()
    assert world.read()["metadata"]["finalizers"] == ["example.com/mine", CLAIM_FINALIZER]


@pytest.mark.row("WC-18", "WC-49")
def test_a_pod_that_loses_its_label_right_after_it_was_written_wakes_its_claim(world: ClaimWorld) -> None:
    """Rule indexed: the run believes the answer to its write, so that no later change may be missed."""
    world.pod("p1")
    world.claim()
    world.run("none")
    woken = set[str]()

    def loses_its_label(_: str) -> None:
        if world.labels("p1").get(CLAIMED_BY):
            world.label("p1", CLAIMED_BY, None)
            woken.update(concerned(world.redis, [Pod(world.get("p1"))], own_event_script(world.redis)))

    kube = InterposedKube(world.api, "PATCH", "/podclaims/", loses_its_label, times=10)
    world.run(services=world.on(kube))
    assert woken == {pod_claim_key(world.namespace, "a")}


@pytest.mark.row("WC-49")
@pytest.mark.parametrize("early", [False, True])
def test_the_event_of_its_own_write_of_the_pod_does_not_wake_a_claim_and_the_next_one_does(
    world: ClaimWorld, early: bool
) -> None:
    """Rule expected, whether the event comes before the run has ended or after it."""
    world.pod("p1")
    world.claim()
    publish(world)
    events = [set[str]()]

    def event(_: str = "") -> None:
        events.append(concerned(world.redis, [Pod(world.get("p1"))], own_event_script(world.redis)))

    services = world.on(InterposedKube(world.api, "PATCH", "/podclaims/a/status", event)) if early else None
    world.run(services=services)
    if not early:
        event()
    world.annotate("p1", "example.com/changed", "since")
    event()
    assert events == [set(), set(), {pod_claim_key(world.namespace, "a")}]
    assert world.queue.depth()["ready"] == 0
