"""A claim that begins to wait for a pod is one event in the stream, whoever dies."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from berthmaster.routing import pod_claim_key
from tests.support.claims.claim_world import ClaimWorld
from tests.support.event_stream import events_of, failures_of
from tests.support.faults.interposed_kube import InterposedKube
from tests.support.faults.interruption import Killed
from workers.kube.pod_claims import PodClaims


@pytest.mark.row("EV-31")
def test_a_claim_without_a_pod_is_one_event_however_often_it_tries(world: ClaimWorld) -> None:
    world.claim()
    for _ in range(3):
        world.run()
    (event,), (failed,) = events_of(world.redis), failures_of(world.redis)
    key, uid = pod_claim_key(world.namespace, "a"), world.read()["metadata"]["uid"]
    assert (event.source, event.subject, failed.key, failed.uid) == ("/berthmaster/worker", key, key, uid)
    assert event.id.startswith(f"{uid}/")
    assert (failed.resource, failed.pool, failed.reason) == ("pod", "warm", "WaitingForPod")
    assert failed.message == world.condition("Bound")["message"]


@pytest.mark.row("EV-31")
def test_a_claim_that_gets_a_pod_at_once_is_none(world: ClaimWorld) -> None:
    world.pod("p1")
    assert world.bound() == "p1"
    assert failures_of(world.redis) == []


@pytest.mark.row("EV-31")
def test_a_run_that_dies_before_it_says_that_the_claim_waits_writes_the_event_again(world: ClaimWorld) -> None:
    """Rule tellfirst."""
    world.claim()

    def die(_: str) -> None:
        raise Killed

    kube = InterposedKube(world.api, "PATCH", "/status", die)
    with pytest.raises(Killed):
        world.run(services=replace(world.services, claims=PodClaims(kube)))
    assert world.phase() == ""
    world.lease_ends()
    world.run()
    world.run()
    first, second = events_of(world.redis)
    assert (first.id, first.data) == (second.id, second.data)


@pytest.mark.row("EV-31")
def test_a_claim_that_has_lost_its_pod_and_waits_for_another_is_another_event(world: ClaimWorld) -> None:
    world.claim()
    world.run()
    world.pod("p1")
    world.run()
    assert world.pod_of() == "p1"
    world.end("p1")
    world.run()
    world.later(timedelta(seconds=10))
    world.run()
    world.run()
    assert len({event.id for event in events_of(world.redis)}) == len(events_of(world.redis)) == 2


@pytest.mark.row("EV-31")
def test_a_claim_that_stays_without_its_lost_pod_waits_for_none(world: ClaimWorld) -> None:
    world.pod("p1")
    world.bound(whenLost="Stay")
    world.end("p1")
    world.run()
    world.later(timedelta(seconds=10))
    world.run()
    assert (world.condition("Bound")["reason"], failures_of(world.redis)) == ("PodLost", [])
    world.spec(whenLost="Rebind")
    world.run()
    assert [failed.reason for failed in failures_of(world.redis)] == ["WaitingForPod"]
