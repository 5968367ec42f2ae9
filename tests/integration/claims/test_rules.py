"""The rules of claims: the shortest history that breaks each, forced on the real run. On both Kubernetes servers."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest

from domain.kubernetes.names import CLAIMED_BY, PHASE
from domain.kubernetes.objects import Pod
from tests.support.claims.claim_meanwhile import CLAIM, POD, standing_still
from tests.support.claims.claim_world import ClaimWorld
from tests.support.faults.interposed_kube import InterposedKube
from tests.support.faults.interruption import Killed
from workers.kube.claim_pods import ClaimPods


def pending(world: ClaimWorld, name: str = "a", **spec: object) -> None:
    """A claim that has looked for a pod before there was one."""
    world.claim(name, **spec)
    world.run(name)


@pytest.mark.row("WC-04", "WC-03")
def test_of_two_runs_of_one_claim_that_take_a_pod_each_keeps_one(world: ClaimWorld) -> None:
    """Rule extra: the other has bound the claim meanwhile."""
    pending(world)
    world.pod("p1")
    world.pod("p2")
    standing_still(world, "PATCH", POD, world.run)
    world.run()
    named = world.pod_of()
    (other,) = {"p1", "p2"} - {named}
    assert world.holder(named) == "Bound a"
    assert world.holder(other) in ("Idle", "Draining")


@pytest.mark.row("WC-06")
def test_a_pod_beyond_the_one_that_a_claim_names_is_given_back(world: ClaimWorld) -> None:
    """Rule extra."""
    world.pod("p1")
    world.bound()
    uid = world.read()["metadata"]["uid"]
    world.pod("p2", **{CLAIMED_BY: uid, PHASE: "Bound"})
    world.services.index.tries(world.namespace, "a", uid, "p2", "run")
    world.run()
    assert (world.pod_of(), world.holder("p1"), world.holder("p2")) == ("p1", "Bound a", "Draining")


@pytest.mark.row("WC-06", "WC-13")
def test_a_pod_that_is_adopted_is_not_drained_by_who_wanted_to_give_it_back(world: ClaimWorld) -> None:
    """Rule touch: the give-back was decided when the claim named another pod."""
    world.pod("p1")
    world.bound()
    uid = world.read()["metadata"]["uid"]
    world.pod("p2", **{CLAIMED_BY: uid, PHASE: "Bound"})
    world.services.index.tries(world.namespace, "a", uid, "p2", "run")

    def others() -> None:
        world.end("p1")
        world.run()
        world.lease_ends()
        world.later(timedelta(seconds=10))
        world.run()
        assert world.pod_of() == "p2"

    standing_still(world, "PATCH", POD, others)
    assert (world.pod_of(), world.holder("p2")) == ("p2", "Bound a")


@pytest.mark.row("WC-13", "WC-20")
def test_a_late_run_does_not_name_the_pod_of_a_claim_that_is_gone(world: ClaimWorld) -> None:
    """Rules uid, own: the claim was deleted and made again by its name."""
    pending(world)
    world.pod("p1")

    def others() -> None:
        world.delete()
        world.run()
        assert world.holder("p1") == "Draining"
        world.claim()

    standing_still(world, "PATCH", CLAIM, others)
    assert world.pod_of() == ""
    world.run()
    assert (world.pod_of(), world.holder("p1")) == ("", "Draining")


@pytest.mark.row("WC-15", "WC-16")
def test_a_lost_pod_is_given_away_before_its_name_is_cleared(world: ClaimWorld) -> None:
    """Rule lost: a late run, which saw the pod alive, must not find it labelled and rely on it."""
    world.pod("p1")
    world.bound(whenLost="Stay")
    world.status("p1", {"phase": "Failed"})
    holders = list[str]()
    standing_still(world, "PATCH", CLAIM, lambda: holders.append(world.holder("p1")))
    assert holders == ["Terminating"]
    world.run()
    assert (world.phase(), world.pod_of(), world.holder("p1")) == ("Lost", "", "Terminating")


@pytest.mark.row("WC-27", "WC-28")
def test_a_run_that_wants_to_go_back_does_not_after_the_target_was_taken(world: ClaimWorld) -> None:
    """Rule mark: it saw a target that was not ready, and goes on when the source has been given back."""
    world.pod("p1")
    world.bound()
    world.pod("p2")
    world.status("p2", {"conditions": [{"type": "Ready", "status": "False"}]})
    world.move("p2")

    def die(_: str) -> None:
        raise Killed

    def others() -> None:
        world.status("p2", {"conditions": [{"type": "Ready", "status": "True"}]})
        with suppress(Killed):  # before it writes the claim for any other reason
            world.run(services=world.on(InterposedKube(world.api, "PATCH", "/a/status", die)))
        world.lease_ends()
        assert (world.holder("p1"), world.holder("p2")) == ("Draining", "Bound a")

    standing_still(world, "PATCH", CLAIM, others)
    assert "PodCleared" not in world.event_reasons(), "it never named its source again"
    world.run()
    assert (world.pod_of(), world.holder("p1"), world.holder("p2")) == ("p2", "Draining", "Bound a")


@pytest.mark.row("WC-28")
def test_a_late_run_drains_no_source_that_the_claim_went_back_to(world: ClaimWorld) -> None:
    """Rule touch: the target was taken and marked, and is gone before the source was given back."""
    world.pod("p1")
    world.bound()
    world.pod("p2")
    world.move("p2")
    steps = list[str]()

    def others() -> None:
        world.end("p2")
        world.run()
        steps.append(world.pod_of())

    standing_still(world, "PATCH", "/pods/p1", others)
    assert steps == ["p1"]
    assert (world.pod_of(), world.holder("p1")) == ("p1", "Bound a")


@pytest.mark.row("WC-03", "WC-38")
def test_a_pod_with_a_job_is_not_taken_and_a_taken_one_gets_none(world: ClaimWorld) -> None:
    """Rule take: first the ledger, then the pod."""
    slots = world.slots["warm"]
    world.pod("p1", layout=("*",))
    assert world.bound("first") == "p1"
    slots.submit("j", "apply")
    assert slots.state("j") == "waiting"
    world.pod("p2", layout=("*",))
    assert slots.state("j") == "placed"
    assert (world.bound("second"), world.holder("p2")) == ("", "Idle")


@pytest.mark.row("WC-38")
def test_a_pod_that_is_fenced_for_deletion_is_not_taken(world: ClaimWorld) -> None:
    """Rule take: exactly one of them wins."""
    world.pod("p1")
    ledger, uid = world.slots["warm"].ledger, world.get("p1")["metadata"]["uid"]
    assert ledger.fence(uid, "scale-down", 0) is None
    world.claim()
    world.run()
    assert world.pod_of() == ""
    world.pod("p2")
    world.run()
    assert world.pod_of() == "p2"
    assert ledger.fence(world.get("p2")["metadata"]["uid"], "scale-down", 0) == "CLOSED"


@pytest.mark.row("WC-03", "WC-38")
@pytest.mark.parametrize("then", ["open", "taken by another"])
def test_a_run_that_stood_still_before_its_pod_was_lifted_does_not_bind_it(world: ClaimWorld, then: str) -> None:
    """Rules order, bump: live read, ledger, write; the take was taken over, the pod written, and opened."""
    pending(world)
    world.pod("p1")
    ledger, uid = world.slots["warm"].ledger, world.get("p1")["metadata"]["uid"]

    def others() -> None:
        assert ledger.take_over(uid, world.read()["metadata"]["uid"], "sweep")
        ClaimPods(world.api, world.namespace).write(Pod(world.get("p1")), {}, {"berthmaster.dev/touched": "sweep"})
        ledger.open(uid, "sweep")
        world.offer()
        if then != "open":
            assert world.bound("b") == "p1"

    standing_still(world, "PATCH", POD, others)
    world.run()
    owner = "a" if then == "open" else "b"
    assert world.holder("p1") == f"Bound {owner}"
    assert {name: world.pod_of(name) for name in ("a", "b") if name == "a" or then != "open"} == (
        {"a": "p1"} if then == "open" else {"a": "", "b": "p1"}
    )


@pytest.mark.row("WC-03", "WC-38")
@pytest.mark.parametrize("before", ["GET", "PATCH"])
def test_a_run_that_stood_still_before_it_read_its_pod_asks_the_ledger_again(world: ClaimWorld, before: str) -> None:
    """Rule order: what it reads is newer than its take, which is over: the pod has a job by now."""
    pending(world)
    world.pod("p1", layout=("*",))
    if before == "GET":
        world.annotate("p1", "example.com/changed", "since")  # the index lags behind: the run reads the pod
    slots, uid = world.slots["warm"], world.get("p1")["metadata"]["uid"]

    def others() -> None:
        assert slots.ledger.take_over(uid, world.read()["metadata"]["uid"], "sweep")
        ClaimPods(world.api, world.namespace).write(Pod(world.get("p1")), {}, {"berthmaster.dev/touched": "sweep"})
        slots.ledger.open(uid, "sweep")
        slots.submit("j", "apply")
        assert slots.state("j") == "placed"

    standing_still(world, before, POD, others)
    world.run()
    assert (world.pod_of(), world.holder("p1"), slots.state("j")) == ("", "Idle", "placed")


@pytest.mark.row("WC-04")
def test_an_index_that_lags_behind_offers_a_pod_in_vain(world: ClaimWorld) -> None:
    """The ledger was lost, and a report opened the pod again; Kubernetes knows better."""
    world.pod("p1")
    world.label("p1", CLAIMED_BY, "another")
    world.label("p1", PHASE, "Bound")
    world.claim()
    world.run()
    assert (world.pod_of(), world.labels("p1")[CLAIMED_BY]) == ("", "another")
    assert world.views() == {"p1": "claimed"}, "and no job comes to it: the run of its pool sees to that"


@pytest.mark.row("WC-04")
def test_a_run_reads_the_claim_itself_and_not_what_was_published_long_ago(world: ClaimWorld) -> None:
    world.pod("p1")
    world.bound()
    world.redis.hdel("{queue}snap", f"podclaim/{world.namespace}/a")
    world.pod("p2")
    world.run()
    world.run()
    assert (world.pod_of(), world.holder("p2")) == ("p1", "Idle")
