"""`Fleet.claim`: one call that creates a claim, waits for its pod, and gives it back whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from prometheus_client import REGISTRY
from redis import Redis

from berthmaster import routing
from berthmaster.broker.sending import Sender
from berthmaster.claims.client import ClaimClient, ClaimRefused
from berthmaster.claims.request import NewClaim
from berthmaster.client import Fleet
from compose.sandbox.free_ports import free_port
from domain.kubernetes.names import RENEWAL
from events.kube.api import KubeApi
from tests.integration.claims.test_addresses import asking, endpoint, ports
from tests.support.claims.claim_desk import AtOnce, ClaimDesk
from tests.support.claims.claim_meanwhile import Dying
from tests.support.claims.claim_world import ClaimWorld
from tests.support.faults.interposed_kube import InterposedKube
from tests.support.faults.interruption import Killed
from tests.support.waiting import eventually
from workers.claims.requests import ClaimRequests
from workers.kube.pod_claims import PodClaims

LONG, SHORT = timedelta(seconds=60), timedelta(seconds=1)


@pytest.fixture
def fleet(redis_url: str) -> Iterator[Fleet]:
    with Fleet(redis_url) as client:
        yield client


def asked(world: ClaimWorld, **fields: object) -> NewClaim:
    return NewClaim.model_validate({"name": "a", "pool": f"{world.namespace}/warm"} | fields)


def requests_on(world: ClaimWorld, api: KubeApi) -> ClaimRequests:
    return ClaimRequests(PodClaims(api), world.services.answers)


def given_back(world: ClaimWorld) -> None:
    eventually(lambda: world.claims() == [], 60)


@pytest.mark.row("CL-41")
def test_a_claimed_pod_has_its_address_and_is_given_back_on_exit(world: ClaimWorld, fleet: Fleet) -> None:
    asking(world)
    ports(world, "Bound", endpoint())
    with ClaimDesk(world):
        with fleet.claim(f"{world.namespace}/warm", timeout=LONG, owner="alice") as pod:
            assert (pod.pod, pod.ips) == ("p1", ("10.0.0.7",))
            assert [(each.name, each.address, each.status) for each in pod.endpoints] == [
                ("game", endpoint()["address"], "Ready")
            ]
            (claim,) = world.claims()
            assert pod.claim == f"{world.namespace}/{claim.name}"
            assert (claim.spec["ttl"], claim.spec["ownerName"]) == ("3600s", "alice")
        given_back(world)
    assert world.holder("p1") == "Draining"


@pytest.mark.row("CL-41")
def test_a_claim_is_returned_once_its_ports_are_there(world: ClaimWorld, impatient: ClaimClient) -> None:
    asking(world)

    def bind(_: str) -> None:
        ports(world, "Bound", endpoint())

    world.services = world.on(InterposedKube(world.api, "PATCH", "/podclaims/a/status", bind))
    with ClaimDesk(world):
        pod = impatient.claim(asked(world), LONG)
        assert [each.port for each in pod.endpoints] == [30000]
        assert pod.release()
        given_back(world)


@pytest.mark.row("CL-41")
def test_a_time_out_says_why_and_gives_the_claim_back(world: ClaimWorld) -> None:
    asking(world)
    ports(world, "PoolNotFound", message="there is no pool arena")
    client = ClaimClient(AtOnce(ClaimDesk(world)), world.services.answers)
    with pytest.raises(TimeoutError, match="there is no pool arena"):
        client.claim(asked(world), SHORT)
    assert (world.gone(), world.holder("p1")) == (True, "Draining")


@pytest.mark.row("CL-41")
def test_a_time_out_without_workers_leaves_nothing_once_there_are_some(world: ClaimWorld, fleet: Fleet) -> None:
    world.pod("p1")
    world.owned_by("blue")
    with pytest.raises(TimeoutError, match="no worker has answered"):
        fleet.claim(f"{world.namespace}/warm", timeout=SHORT)
    with ClaimDesk(world) as desk:
        eventually(lambda: desk.taken[routing.CLAIMS_RELEASE] == 1, 60)
        given_back(world)
    assert (desk.taken[routing.CLAIMS_CREATE], world.holder("p1")) == (1, "Idle")


@pytest.mark.row("CL-44")
def test_a_time_out_says_that_redis_is_away_or_that_no_fleet_has_it(redis: Redis, redis_url: str) -> None:
    redis.flushdb()
    with Fleet(redis_url) as fleet, pytest.raises(TimeoutError, match="within 1 s: no fleet has claimed this Redis"):
        fleet.claim("games/warm", timeout=SHORT)
    name, labels = "berthmaster_tasks_unsent_total", {"task": routing.CLAIMS_RELEASE}
    before = REGISTRY.get_sample_value(name, labels)
    away, words = f"redis://127.0.0.1:{free_port()}/0", "within 1 s: Redis is away: Error 111"
    with Fleet(away) as fleet, pytest.raises(TimeoutError, match=words):
        fleet.claim("games/warm", timeout=SHORT)
    assert REGISTRY.get_sample_value(name, labels) == before, "nothing was asked for"


@pytest.mark.row("CL-44")
def test_a_broker_that_takes_nothing_is_the_reason_of_a_time_out(world: ClaimWorld) -> None:
    client = ClaimClient(Sender(f"redis://127.0.0.1:{free_port()}/0"), world.services.answers)
    with pytest.raises(TimeoutError, match="the broker does not take the request"):
        client.claim(asked(world), SHORT)


@pytest.mark.row("CL-44")
def test_a_refused_name_says_until_when_and_the_way_out(world: ClaimWorld, impatient: ClaimClient) -> None:
    """A release of a name that was never there: nobody can tell it from one that overtakes its request."""
    world.pod("p1")
    impatient.release(f"{world.namespace}/a")
    with ClaimDesk(world) as desk:
        eventually(lambda: desk.taken[routing.CLAIMS_RELEASE] == 1, 60)
        until = world.services.answers.released_until(world.namespace, "a")
        assert until
        with pytest.raises(ClaimRefused, match=f"until {until:%F %T}Z.* give another name, or none"):
            impatient.claim(asked(world), LONG)
        assert impatient.claim(asked(world, name="b"), LONG).pod == "p1"


@pytest.mark.row("CL-41")
def test_lost_messages_and_answers_are_asked_for_again(world: ClaimWorld, impatient: ClaimClient) -> None:
    world.pod("p1")
    with ClaimDesk(world) as desk:
        desk.lose[routing.CLAIMS_CREATE] = 2
        assert impatient.claim(asked(world), LONG).pod == "p1"
        world.redis.delete(f"berthmaster:claims:answer:{world.namespace}/a")
        before = desk.taken[routing.CLAIMS_CREATE]
        assert impatient.claim(asked(world), LONG).pod == "p1", "the same name is the same claim"
        assert desk.taken[routing.CLAIMS_CREATE] > before
        assert len(world.claims()) == 1


@pytest.mark.row("CL-41")
def test_an_answer_about_an_earlier_claim_of_the_name_is_not_taken(world: ClaimWorld, impatient: ClaimClient) -> None:
    world.pod("p1")
    with ClaimDesk(world):
        assert impatient.claim(asked(world), LONG).pod == "p1"
        impatient.release(f"{world.namespace}/a")
        given_back(world)
        with pytest.raises(ClaimRefused, match="was released"):
            impatient.claim(asked(world), LONG)


@pytest.mark.row("CL-41")
def test_a_refusal_names_the_field_and_leaves_no_claim(world: ClaimWorld, fleet: Fleet) -> None:
    pool = f"{world.namespace}/warm"
    world.claim("other")
    with ClaimDesk(world) as desk:
        for fields, words in (
            ({"labels": {"a b": "c"}}, "selector"),
            ({"pod_labels": {"berthmaster.dev/phase": "Idle"}}, "additionalPodLabels"),
            ({"ttl": timedelta(seconds=1)}, "ttl"),
            ({"name": "other"}, "name: there is another claim"),
        ):
            with pytest.raises(ClaimRefused, match=words):
                fleet.claim(pool, timeout=LONG, **fields)
        eventually(lambda: desk.taken[routing.CLAIMS_RELEASE] == 4, 60)
        assert [claim.name for claim in world.claims()] == ["other"], "nobody else's claim is released"
    for wrong in ({"name": "A"}, {"owner": 1}, {"timeout": 5}, {"until": -1.0}, {"unknown": 1}):
        with pytest.raises((ValueError, TypeError)):
            fleet.claim(pool, **wrong)
    with pytest.raises(ValueError, match="pool"):
        fleet.claim("warm")


@pytest.mark.row("CL-41")
def test_a_namespace_that_is_not_there_is_a_refusal(world: ClaimWorld, fleet: Fleet) -> None:
    with ClaimDesk(world), pytest.raises(ClaimRefused, match="Kubernetes refuses the claim"):
        fleet.claim("nowhere-at-all/warm", timeout=LONG)


@pytest.mark.row("CL-41", "CL-42")
def test_a_claimed_pod_can_be_renewed(world: ClaimWorld, impatient: ClaimClient) -> None:
    world.pod("p1")
    with ClaimDesk(world):
        pod = impatient.claim(asked(world, ttl="1h"), LONG)
        assert pod.renew()
        eventually(lambda: "renewedTime" in world.read()["status"], 60)
    assert world.read()["status"]["observedRenewal"] == world.read()["metadata"]["annotations"][RENEWAL]


@pytest.mark.row("CL-41", "CL-42")
def test_a_restarted_service_renews_its_claim_by_its_name(world: ClaimWorld, fleet: Fleet) -> None:
    desk = ClaimDesk(world)
    desk.requests.create(asked(world))
    assert fleet.renew(f"{world.namespace}/a")
    desk.take_all()
    assert RENEWAL in world.read()["metadata"]["annotations"]
    with pytest.raises(ValueError, match="claim"):
        fleet.renew("a")


@pytest.mark.row("CL-41")
def test_a_release_that_overtakes_the_request_wins(world: ClaimWorld) -> None:
    """Rule released: the release is carried out right before the claim is created, and the request is repeated."""

    def released(_: str) -> None:
        requests_on(world, world.api).release(world.namespace, "a")

    late = InterposedKube(world.api, "POST", "/podclaims", released)
    requests_on(world, late).create(asked(world))
    assert (late.left, world.gone()) == (0, True)
    requests_on(world, world.api).create(asked(world))
    assert world.gone()


@pytest.mark.row("CL-41")
def test_a_worker_that_dies_after_it_has_created_a_released_claim_leaves_it_to_its_repetition(
    world: ClaimWorld,
) -> None:
    """Rule released."""

    def released(_: str) -> None:
        requests_on(world, world.api).release(world.namespace, "a")

    dying = Dying(world.api, 0, after=True)
    with pytest.raises(Killed):
        requests_on(world, dying).create(asked(world))
    assert not world.gone()
    released("")
    assert world.gone()
    requests_on(world, world.api).create(asked(world))
    assert world.gone()


@pytest.mark.row("CL-41")
def test_a_request_that_nobody_waits_for_any_more_creates_nothing(world: ClaimWorld) -> None:
    now = world.services.answers.now()
    requests = requests_on(world, world.api)
    requests.create(asked(world, until=now - 1))
    assert world.gone()
    requests.create(asked(world, until=now + 3600))
    assert not world.gone()


@pytest.mark.row("CL-41")
def test_a_claim_of_somebody_else_is_neither_renewed_nor_released(world: ClaimWorld) -> None:
    world.claim()
    before = world.read()
    requests = requests_on(world, world.api)
    requests.renew(world.namespace, "a", "1")
    requests.release(world.namespace, "a")
    assert world.read() == before
