"""A claim finds a pod and keeps it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from domain.claims.pod_request import PodRequest
from domain.kubernetes.names import CLAIM_FINALIZER, CORDON, LAST_OWNER
from domain.outcome import Settled, Wait
from events.kube.api import Denied, Invalid, KubeApi, KubeError
from tests.support.claims.claim_world import READY, ClaimWorld
from tests.support.faults.interposed_kube import InterposedKube


class NoLabels(KubeApi):
    """Whatever else may be written on pods, labels may not, but on the pod that it `spares`."""

    def __init__(self, api: KubeApi, refusal: KubeError, spares: str = "none") -> None:
        super().__init__(api.connection, api.timeout, api.agent)
        self._refusal, self._spares = refusal, spares

    def patch(self, path: str, body: Any) -> dict[str, Any]:
        if "/pods/" in path and body["metadata"].get("labels") and not path.endswith(self._spares):
            raise self._refusal
        return super().patch(path, body)


@pytest.mark.row("WC-01", "WC-12")
def test_a_claim_gets_a_free_pod_with_its_labels_on_it(world: ClaimWorld) -> None:
    pod = world.pod("p1", tier="free")
    world.claim(ownerName="alice", additionalPodLabels={"match": "7"})
    assert world.run() == Settled()
    claim = world.read()
    assert (claim["spec"]["podName"], world.phase()) == ("p1", "Bound")
    assert claim["metadata"]["finalizers"] == [CLAIM_FINALIZER]
    assert claim["status"]["boundTime"]
    assert world.holder("p1") == "Bound a"
    assert world.labels("p1").items() >= {"berthmaster.dev/owner": "alice", "match": "7", "tier": "free"}.items()
    assert world.views() == {"p1": "claimed"}
    assert pod["metadata"]["uid"] == world.get("p1")["metadata"]["uid"]


@pytest.mark.row("WC-01", "WC-10")
def test_a_claim_without_a_pool_stays_pending_and_says_why(world: ClaimWorld) -> None:
    world.pod("p1")
    world.claim(poolName="cold")
    ended = world.run()
    assert isinstance(ended, Wait)
    assert world.phase() == "Pending"
    assert world.condition("Bound")["reason"] == "NoPool"
    assert "no pool cold" in world.condition("Bound")["message"]
    world.claim("b", poolName="", selector={"size": "big"})
    world.run("b")
    assert world.condition("Bound", "b")["reason"] == "NoPool"


@pytest.mark.row("WC-10", "WC-48")
def test_a_claim_that_waits_looks_again_less_and_less_often(world: ClaimWorld) -> None:
    world.claim()
    waits = []
    for _ in range(6):
        ended = world.run()
        assert isinstance(ended, Wait)
        waits.append(ended.for_)
        world.lease_ends()
    assert waits == [timedelta(seconds=s) for s in (5, 10, 20, 40, 60, 60)]


@pytest.mark.row("WC-09")
def test_a_claim_that_finds_no_pod_is_nominated_and_makes_its_pool_look(world: ClaimWorld) -> None:
    world.claim(ownerName="alice")
    world.run()
    assert world.condition("Bound")["reason"] == "WaitingForPod"
    (waits,) = world.services.waiting.all(world.namespace)
    assert (waits.name, waits.pool, waits.request) == ("a", "warm", PodRequest("warm"))
    assert world.redis.hexists("{queue}dirty", f"podpool/{world.namespace}/warm")
    world.pod("p1")
    world.run()
    assert world.phase() == "Bound"
    assert world.services.waiting.all(world.namespace) == ()


@pytest.mark.row("WC-09")
def test_a_claim_without_a_pool_of_its_own_is_nominated_to_one_that_fits_and_has_room(world: ClaimWorld) -> None:
    world.pool("big", {"size": "big"}, most=1)
    world.pool("bigger", {"size": "big"})
    world.pod("p1", "big", size="small")
    world.claim(poolName="", selector={"size": "big"})
    world.run()
    (waits,) = world.services.waiting.all(world.namespace)
    assert waits.pool == "bigger"
    world.claim("b", poolName="big", selector={"size": "big"})
    world.run("b")
    assert world.condition("Bound", "b")["reason"] == "PoolFull"


@pytest.mark.row("WC-08")
def test_only_a_pod_of_the_pool_with_the_labels_and_of_the_present_template_is_taken(world: ClaimWorld) -> None:
    world.pool("other")
    world.pod("elsewhere", "other", size="big")
    world.pod("small", size="small")
    world.revision = "r0"
    world.pod("outdated", size="big")
    world.revision = "r1"
    world.offer()
    world.claim(selector={"size": "big"})
    world.run()
    assert world.pod_of() == ""
    world.pod("fits", size="big")
    world.run()
    assert world.pod_of() == "fits"


@pytest.mark.row("WC-08", "WC-11")
@pytest.mark.parametrize(
    "conditions",
    [
        [{"type": "Ready", "status": "False"}],
        [*READY["conditions"], {"type": "PodResizeInProgress", "status": "True"}],
    ],
)
def test_a_pod_that_is_not_normal_any_more_is_not_bound_and_stays_free(
    world: ClaimWorld, conditions: list[dict[str, Any]]
) -> None:
    """The index still offers it."""
    world.pod("p1")
    world.status("p1", {"conditions": conditions})
    world.claim()
    world.run()
    assert (world.pod_of(), world.holder("p1"), world.views()) == ("", "Idle", {"p1": "open"})
    world.status("p1", READY)
    world.offer()
    world.run()
    assert world.pod_of() == "p1"


def test_a_cordoned_pod_is_not_bound(world: ClaimWorld) -> None:
    world.pod("p1")
    world.annotate("p1", CORDON, "true")
    world.claim()
    world.run()
    assert (world.pod_of(), world.views()) == ("", {"p1": "open"})


@pytest.mark.row("WC-07")
def test_the_pod_that_the_same_owner_had_last_comes_first_and_then_the_truly_older(world: ClaimWorld) -> None:
    """11:59:59 is older than 12:00:01, whatever their seconds say."""
    for name in ("young", "old", "known"):
        world.pod(name, offer=False)
    world.label("known", LAST_OWNER, "alice")
    noon = world.clock.replace(hour=12, minute=0, second=0)
    ages = {"young": 1, "old": -1, "known": 30}
    world.offer(created={name: noon + timedelta(seconds=s) for name, s in ages.items()})
    assert [world.bound(claim, ownerName="alice") for claim in ("a", "b", "c")] == ["known", "old", "young"]


@pytest.mark.row("WC-05")
def test_a_pod_that_another_claim_names_is_not_chosen(world: ClaimWorld) -> None:
    world.pod("p1")
    first = world.bound("first")
    world.pod("p2")
    world.move("p2", "first")
    world.services.index.remember(
        world.namespace, "first", world.read("first")["metadata"]["uid"], [first, "p2"], "run"
    )
    assert world.bound("second") == ""
    world.pod("p3")
    world.run("second")
    assert world.pod_of("second") == "p3"


@pytest.mark.row("WC-04")
def test_a_new_claim_lists_no_pods_and_asks_redis_only_for_as_many_as_it_needs(world: ClaimWorld) -> None:
    for n in range(25):
        world.pod(f"p{n}", offer=False)
    world.offer()
    read: list[str] = []
    kube = InterposedKube(world.api, "GET", "/pods", read.append, times=100)
    before = pages(world)
    world.claim()
    world.run(services=world.on(kube))
    assert (world.phase(), world.pods_path() in read) == ("Bound", False)
    assert pages(world) - before == 1


@pytest.mark.row("WC-02", "WC-04")
def test_a_claim_whose_first_page_others_take_meanwhile_finds_what_is_left(world: ClaimWorld) -> None:
    names = [f"p{n:02}" for n in range(12)]
    uids = [world.pod(name, offer=False)["metadata"]["uid"] for name in names]
    world.offer(created={name: world.clock + timedelta(seconds=n) for n, name in enumerate(names)})

    def taken(_: str) -> None:
        world.annotate("p00", CORDON, "true")
        for uid in uids[1:10]:
            assert world.slots["warm"].ledger.claim(uid, "another") is None

    world.claim()
    world.run(services=world.on(InterposedKube(world.api, "PATCH", "/pods/p00", taken)))
    assert world.pod_of() in names[10:]


def pages(world: ClaimWorld) -> int:
    """Of the index of a pool, that Redis was asked for."""
    info: Any = world.redis.info("commandstats")
    return int(info["cmdstat_zrange"]["calls"]) if "cmdstat_zrange" in info else 0


@pytest.mark.row("WC-01")
def test_a_claim_on_a_pod_of_an_older_template_is_outdated_and_keeps_it(world: ClaimWorld) -> None:
    world.pod("p1")
    world.bound()
    world.revision = "r2"
    world.offer()
    world.run()
    assert (world.phase(), world.pod_of()) == ("Outdated", "p1")


@pytest.mark.row("WC-12")
def test_labels_that_a_claim_adds_later_come_to_its_pod(world: ClaimWorld) -> None:
    world.pod("p1", tier="free")
    world.bound(additionalPodLabels={"rank": "gold"})
    world.spec(additionalPodLabels={"rank": None, "match": "8"})
    world.run()
    assert world.labels("p1")["match"] == "8"
    assert world.labels("p1")["tier"] == "free"
    assert "rank" not in world.labels("p1")


@pytest.mark.row("WC-09")
def test_a_run_that_finds_nothing_to_do_writes_nothing(world: ClaimWorld) -> None:
    world.pod("p1")
    world.bound()
    before = (world.read(), world.get("p1"))
    world.run()
    assert (world.read(), world.get("p1")) == before


@pytest.mark.row("WC-10")
@pytest.mark.parametrize("refusal", [Invalid(422, "Invalid", "no such label"), Denied(403, "Forbidden", "a webhook")])
def test_a_refused_label_is_said_and_takes_no_pod_from_others(world: ClaimWorld, refusal: KubeError) -> None:
    for name in ("p1", "p2"):
        world.pod(name)
    world.claim()

    world.run(services=world.on(NoLabels(world.api, refusal)))
    assert (world.phase(), world.condition("Bound")["reason"]) == ("Pending", "PodRefused")
    assert refusal.message in world.condition("Bound")["message"]
    assert world.views() == {"p1": "open", "p2": "open"}
    assert world.services.waiting.all(world.namespace) == (), "no pool grows for it"
    world.offer()
    assert world.bound("b") == "p1"
    world.run()
    assert world.pod_of() == "p2"


@pytest.mark.row("WC-03")
@pytest.mark.parametrize("refusal", [Invalid(422, "Invalid", "a webhook"), Denied(403, "Forbidden", "a webhook")])
def test_a_pod_that_nobody_may_write_costs_a_claim_nothing_but_a_try(world: ClaimWorld, refusal: KubeError) -> None:
    for name in ("p1", "p2"):
        world.pod(name)
    world.claim()

    def refuse(_: str) -> None:
        raise refusal

    world.run(services=world.on(InterposedKube(world.api, "PATCH", "/pods/p1", refuse, times=100)))
    assert world.holder("p2") == "Bound a"
    assert world.views()["p1"] == "fenced", "nobody else gets it before it has been written"


@pytest.mark.row("WC-03")
def test_pods_whose_labels_are_refused_for_good_are_passed(world: ClaimWorld) -> None:
    for number in range(5):
        world.pod(f"p{number}")
    world.claim()

    refusing = world.on(NoLabels(world.api, Invalid(422, "Invalid", "a webhook"), spares="p4"))
    for _ in range(2):
        world.run(services=refusing)
        world.offer()
    assert world.holder("p4") == "Bound a"


@pytest.mark.row("WC-12")
def test_a_bound_claim_whose_new_label_is_refused_keeps_its_pod_and_its_status(world: ClaimWorld) -> None:
    world.pod("p1")
    world.bound()
    world.spec(additionalPodLabels={"tier": "paid"})

    world.run(services=world.on(NoLabels(world.api, Invalid(422, "Invalid", "a webhook says no"))))
    assert (world.phase(), world.pod_of()) == ("Bound", "p1")
    assert world.read()["status"]["observedGeneration"] == world.read()["metadata"]["generation"]
    assert "LabelsRefused" in world.event_reasons()
