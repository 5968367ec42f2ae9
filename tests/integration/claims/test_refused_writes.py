"""Kubernetes refuses a write of a claim's run: the claim's status or an Event says so."""

from __future__ import annotations

from datetime import timedelta

import pytest

from events.kube.api import Denied, Invalid, KubeError
from tests.support.claims.claim_world import ClaimWorld, Json
from tests.support.faults.interposed_kube import InterposedKube

pytestmark = [
    pytest.mark.row("KU-15"),
    pytest.mark.parametrize("refusal", [Invalid(422, "Invalid", "a webhook"), Denied(403, "Forbidden", "a webhook")]),
]


def refusal_messages(world: ClaimWorld) -> list[str]:
    listed = world.api.list(f"/api/v1/namespaces/{world.namespace}/events")["items"]
    return [event["message"] for event in listed if event["reason"] == "WriteRefused"]


def refused_condition(world: ClaimWorld) -> Json | None:
    listed = (world.read().get("status") or {}).get("conditions") or ()
    return next((entry for entry in listed if entry["type"] == "WritesAccepted"), None)


def test_a_pod_that_may_not_be_given_back_is_told_on_its_claim(world: ClaimWorld, refusal: KubeError) -> None:
    world.pod("p1")
    world.bound()
    world.delete()

    def refuse(_: str) -> None:
        raise refusal

    for _ in range(2):
        world.run(services=world.on(InterposedKube(world.api, "PATCH", "/pods/", refuse, times=100)))
    words = f"Kubernetes refuses to patch pods p1: {refusal}"
    assert (condition := refused_condition(world))
    assert (condition["status"], condition["message"]) == ("False", words)
    assert refusal_messages(world) == [words]
    world.run()
    assert world.gone()


def test_a_claim_that_may_not_be_written_says_so_until_it_may(world: ClaimWorld, refusal: KubeError) -> None:
    world.pod("p1")
    world.claim()

    def refuse(path: str) -> None:
        if not path.endswith("/status"):
            raise refusal

    for _ in range(2):
        world.run(services=world.on(InterposedKube(world.api, "PATCH", "/podclaims/", refuse, times=100)))
    assert refused_condition(world)
    assert refusal_messages(world) == [f"Kubernetes refuses to patch podclaims a: {refusal}"]
    world.run()
    assert world.phase() == "Bound"
    assert refused_condition(world) is None


def test_a_claim_expires_although_its_status_is_refused(world: ClaimWorld, refusal: KubeError) -> None:
    world.pod("p1")
    world.bound(ttl="1m")
    world.later(timedelta(minutes=2))

    def refuse(_: str) -> None:
        raise refusal

    world.run(services=world.on(InterposedKube(world.api, "PATCH", "/podclaims/a/status", refuse, times=100)))
    assert (world.gone(), world.holder("p1")) == (True, "Draining")
    assert "Expired" in world.event_reasons()


def test_a_claim_whose_status_is_refused_has_one_event(world: ClaimWorld, refusal: KubeError) -> None:
    world.claim()

    def refuse(_: str) -> None:
        raise refusal

    for _ in range(2):
        world.run(services=world.on(InterposedKube(world.api, "PATCH", "/status", refuse, times=100)))
    assert refusal_messages(world) == [f"Kubernetes refuses to patch podclaims/status a: {refusal}"]
