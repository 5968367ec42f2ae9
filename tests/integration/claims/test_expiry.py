"""A claim with a ttl that nobody renews expires: it is deleted, and its pod drains. A renewed claim loses nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from domain.kubernetes.names import RENEWAL
from domain.kubernetes.objects import KubeObject
from domain.outcome import Settled, Wait
from events.kube.api import KubeApi
from tests.support.claims.claim_world import ClaimWorld
from tests.support.faults.interposed_kube import InterposedKube

TTL = timedelta(minutes=1)
MOMENT = timedelta(seconds=2)
"""Timestamps are exact to the second."""


def renew(world: ClaimWorld, text: str) -> None:
    world.api.patch(f"{world.claims_path()}/a", {"metadata": {"annotations": {RENEWAL: text}}})


def to_expiry(world: ClaimWorld) -> timedelta:
    """For how long the claim's run waits now."""
    outcome = world.run()
    assert isinstance(outcome, Wait), outcome
    return outcome.for_


def bound(world: ClaimWorld) -> None:
    """Let a claim have a pod, by a clock that shows when the claim was made."""
    world.pod("p1")
    world.clock = KubeObject(world.claim(ttl="1m")).created
    assert to_expiry(world) == TTL
    assert world.phase() == "Bound"


@pytest.mark.row("CL-42")
def test_a_claim_that_nobody_renews_expires_and_its_pod_drains(world: ClaimWorld) -> None:
    bound(world)
    created = KubeObject(world.read()).created
    assert world.read()["status"]["expiryTime"] == (created + TTL).isoformat(timespec="seconds")
    world.later(TTL - MOMENT)
    assert to_expiry(world) == MOMENT
    assert world.holder("p1") == "Bound a"
    world.later(MOMENT)
    assert world.run() == Settled()
    assert (world.gone(), world.holder("p1")) == (True, "Draining")
    assert "Expired" in world.event_reasons()
    assert list(world.redis.scan_iter("{claims:*")) == []


@pytest.mark.row("CL-42")
def test_each_new_text_renews_and_only_the_clock_of_the_server_counts(world: ClaimWorld) -> None:
    bound(world)
    for text in ("1970-01-01T00:00:00Z", "tomorrow", "x" * 500):
        world.later(TTL - MOMENT)
        renew(world, text)
        assert to_expiry(world) == TTL
        assert world.read()["status"]["observedRenewal"] == text[:253]
    before = world.read()
    world.later(MOMENT)
    renew(world, "x" * 500)
    assert to_expiry(world) == TTL - MOMENT, "the same text renews nothing"
    assert world.read() == before, "what is recorded is not written again"


@pytest.mark.row("CL-42")
def test_a_renewal_that_no_worker_saw_in_time_is_not_late(world: ClaimWorld) -> None:
    bound(world)
    renew(world, "1")
    world.later(2 * TTL)
    assert to_expiry(world) == TTL
    world.later(TTL)
    world.run()
    assert world.gone()


@pytest.mark.row("CL-42")
@pytest.mark.parametrize(
    ("method", "part"), [("PATCH", "/podclaims/a/status"), ("DELETE", "/podclaims/a")], ids=["status", "deletion"]
)
def test_a_renewal_that_comes_while_a_run_deletes_the_claim_wins(world: ClaimWorld, method: str, part: str) -> None:
    """Rule renewed."""
    bound(world)
    world.later(TTL)
    kube = InterposedKube(world.api, method, part, lambda _: renew(world, "1"))
    assert isinstance(world.run(services=world.on(kube)), Wait)
    assert kube.left == 0
    assert not KubeObject(world.read()).deleting
    assert to_expiry(world) == TTL
    assert (world.phase(), world.holder("p1")) == ("Bound", "Bound a")
    assert "Expired" not in {condition["type"] for condition in world.read()["status"]["conditions"]}


@pytest.mark.row("CL-42")
def test_a_claim_made_anew_while_a_run_deletes_the_expired_one_stays(world: ClaimWorld) -> None:
    """Rule renewed."""
    bound(world)
    world.later(TTL)

    def made_anew(_: str) -> None:
        world.api.patch(f"{world.claims_path()}/a", {"metadata": {"finalizers": None}})
        world.delete()
        world.claim()

    world.run(services=world.on(InterposedKube(world.api, "DELETE", "/podclaims/a", made_anew)))
    assert not world.gone()
    assert not KubeObject(world.read()).deleting


@pytest.mark.row("CL-42")
def test_a_run_that_dies_after_the_deletion_leaves_an_ordinary_end(world: ClaimWorld) -> None:
    bound(world)
    world.later(TTL)

    def dies(_: str) -> None:
        raise KeyboardInterrupt

    services = world.on(InterposedKube(world.api, "PATCH", "/pods/", dies))
    with pytest.raises(KeyboardInterrupt):
        world.run(services=services)
    claim = KubeObject(world.read())
    assert claim.deleting
    assert (world.condition("Expired")["status"], world.condition("Expired")["reason"]) == ("True", "TTLPassed")
    world.lease_ends()
    world.run()
    assert (world.gone(), world.holder("p1")) == (True, "Draining")


@pytest.mark.row("CL-42")
def test_a_claim_that_waits_for_a_pod_expires_too_and_looks_for_one_until_then(world: ClaimWorld) -> None:
    world.clock = KubeObject(world.claim(ttl="12s")).created
    assert to_expiry(world) == world.services.retry
    world.later(timedelta(seconds=10))
    assert to_expiry(world) == timedelta(seconds=2)
    world.later(timedelta(seconds=2))
    assert world.run() == Settled()
    assert world.gone()


@pytest.mark.row("CL-42")
def test_an_expired_claim_that_moves_gives_both_pods_back(world: ClaimWorld) -> None:
    bound(world)
    world.pod("p2")
    world.move("p2")
    world.run()
    assert world.holder("p2") == "Bound a"
    world.later(TTL)
    world.run()
    assert world.gone()
    assert {world.holder("p1"), world.holder("p2")} == {"Draining"}


@pytest.mark.row("CL-42")
def test_a_claim_without_ttl_never_expires(world: ClaimWorld) -> None:
    world.pod("p1")
    world.bound()
    renew(world, "1")
    world.later(timedelta(days=10_000))
    assert world.run() == Settled()
    assert "expiryTime" not in world.read()["status"]


@pytest.mark.row("CL-42")
def test_a_clock_that_was_ahead_when_a_claim_was_renewed_keeps_it_for_one_ttl(world: ClaimWorld) -> None:
    bound(world)
    world.later(timedelta(days=365))
    renew(world, "1")
    assert to_expiry(world) == TTL
    world.later(timedelta(days=-365))
    assert to_expiry(world) == TTL
    world.later(TTL)
    world.run()
    assert world.gone()


@pytest.mark.row("CL-42")
def test_a_ttl_may_be_given_later_and_begins_with_a_renewal(world: ClaimWorld) -> None:
    world.pod("p1")
    world.clock = KubeObject(world.claim()).created
    world.run()
    world.later(timedelta(days=1))
    changed = {"metadata": {"annotations": {RENEWAL: "1"}}, "spec": {"ttl": "1m"}}
    world.api.patch(f"{world.claims_path()}/a", changed)
    assert to_expiry(world) == TTL
    world.spec(ttl=None)
    assert world.run() == Settled()


@pytest.mark.row("CL-42")
def test_a_time_of_renewal_that_no_calendar_has_after_it_is_recorded_anew(world: ClaimWorld) -> None:
    bound(world)
    for last in ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59-12:00", "9999-12-31T23:59:59+12:00"):
        status = {"renewedTime": last, "observedRenewal": "1"}
        world.api.patch(f"{world.claims_path()}/a/status", {"status": status})
        assert to_expiry(world) == TTL
        assert world.phase() == "Bound"


@pytest.mark.row("CL-42")
def test_a_claim_whose_spec_became_invalid_expires_too(world: ClaimWorld) -> None:
    bound(world)
    broken = InvalidSpecs(world.api)
    services = world.on(broken)
    outcome = world.run(services=services)
    assert isinstance(outcome, Wait)
    assert (outcome.for_, world.condition("Valid")["status"]) == (TTL, "False")
    world.later(TTL)
    world.run(services=services)
    assert (world.gone(), world.holder("p1")) == (True, "Draining")


class InvalidSpecs(KubeApi):
    """An API whose claims have a spec that an earlier definition permitted."""

    def __init__(self, api: KubeApi) -> None:
        super().__init__(api.connection, api.timeout, api.agent)

    def request(self, method: str, path: str, *args: Any, **options: Any) -> dict[str, Any]:
        answer = super().request(method, path, *args, **options)
        if "/podclaims/" in path and "spec" in answer:
            answer["spec"] |= {"ownerName": "not a label"}
        return answer
