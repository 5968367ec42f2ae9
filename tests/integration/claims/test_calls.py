"""Calls of `Fleet.claim` that ask for one name: each ends only what it has asked for itself."""

from __future__ import annotations

from typing import Any

import pytest

from berthmaster import routing
from berthmaster.broker.sending import Sender
from berthmaster.claims.answer import ClaimAnswer
from berthmaster.claims.client import ClaimClient, ClaimRefused
from domain.kubernetes.names import RENEWAL, REQUESTED
from domain.kubernetes.objects import KubeObject
from tests.integration.claims.test_client import LONG, SHORT, asked, requests_on
from tests.support.claims.claim_desk import AtOnce, ClaimDesk
from tests.support.claims.claim_world import ClaimWorld
from tests.support.faults.interposed_kube import InterposedKube
from tests.support.waiting import eventually


def calls(world: ClaimWorld) -> list[str]:
    return KubeObject(world.read()).annotations[REQUESTED].split()


@pytest.mark.row("CL-41")
@pytest.mark.parametrize("fields", [{}, {"ttl": "1s"}])
def test_a_call_that_fails_leaves_the_claim_that_another_call_has(
    world: ClaimWorld, impatient: ClaimClient, fields: dict[str, str]
) -> None:
    """Rule callers: a restarted service asks for its claim by its name, and is not answered in time, or refused."""
    world.pod("p1")
    desk = ClaimDesk(world)
    with desk:
        assert impatient.claim(asked(world), LONG).pod == "p1"
        before = KubeObject(world.read()).uid
        desk.lose[routing.CLAIMS_CREATE] = 0 if fields else 1_000_000
        with pytest.raises((TimeoutError, ClaimRefused)):
            impatient.claim(asked(world, **fields), SHORT if not fields else LONG)
        eventually(lambda: desk.taken[routing.CLAIMS_RELEASE] == 1, 60)
    assert (KubeObject(world.read()).uid, world.holder("p1"), len(calls(world))) == (before, "Bound a", 1)


@pytest.mark.row("CL-41")
def test_a_name_whose_call_failed_can_be_claimed_again(world: ClaimWorld, impatient: ClaimClient) -> None:
    with ClaimDesk(world) as desk:
        with pytest.raises(TimeoutError):
            impatient.claim(asked(world), SHORT)
        eventually(lambda: desk.taken[routing.CLAIMS_RELEASE] == 1, 60)
        with desk.lock:
            world.pod("p1")
        assert impatient.claim(asked(world), LONG).pod == "p1"


@pytest.mark.row("CL-41")
def test_a_call_that_finds_the_claim_of_one_that_fails_then_keeps_it(world: ClaimWorld) -> None:
    """Rule callers: the second call comes right before the deletion, which then is none."""
    requests = requests_on(world, world.api)
    requests.create(asked(world, call="first"))

    def second(_: str) -> None:
        requests.create(asked(world, call="second"))

    late = InterposedKube(world.api, "DELETE", "/podclaims/a", second)
    requests_on(world, late).release(world.namespace, "a", "first")
    assert (late.left, calls(world)) == (0, ["second"])
    requests.create(asked(world, call="first"))
    assert calls(world) == ["second"], "a late repetition of a call that was released"
    requests.release(world.namespace, "a", "second")
    assert world.gone()


@pytest.mark.row("CL-41")
def test_a_claim_that_very_many_calls_ask_for_goes_by_its_name_only(world: ClaimWorld) -> None:
    requests = requests_on(world, world.api)
    for call in range(30):
        requests.create(asked(world, call=str(call)))
    assert calls(world) == ["true"]
    for call in range(30):
        requests.release(world.namespace, "a", str(call))
    assert not world.gone()
    requests.release(world.namespace, "a")
    assert world.gone()


@pytest.mark.row("CL-41")
def test_a_repeated_request_creates_one_claim_and_keeps_it_as_it_is(world: ClaimWorld) -> None:
    requests = requests_on(world, world.api)
    requests.create(asked(world, owner="alice", ttl=None))
    before = world.read()
    requests.create(asked(world, owner="alice", ttl=None))
    assert world.read() == before


@pytest.mark.row("CL-41")
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"owner": "bob"}, "with another ownerName"),
        ({"pool": "other"}, "with another poolName"),
        ({"labels": {"map": "snow"}}, "with another selector"),
    ],
)
def test_one_name_is_not_two_claims(
    world: ClaimWorld, impatient: ClaimClient, fields: dict[str, Any], words: str
) -> None:
    world.pod("p1")
    if pool := fields.get("pool"):
        fields = {"pool": f"{world.namespace}/{pool}"}
    with ClaimDesk(world) as desk:
        assert impatient.claim(asked(world, owner="alice"), LONG).pod == "p1"
        with pytest.raises(ClaimRefused, match=words):
            impatient.claim(asked(world, **({"owner": "alice"} | fields)), LONG)
        eventually(lambda: desk.taken[routing.CLAIMS_RELEASE] == 1, 60)
    assert world.holder("p1") == "Bound a"


@pytest.mark.row("CL-41")
def test_the_latest_answer_counts_and_no_older_nor_that_to_another_call(world: ClaimWorld) -> None:
    place, said = (world.namespace, "a"), list[dict[str, str]]()
    bound = ClaimAnswer(phase="Bound", pod_name="p1", version=5)

    class Answered(Sender):
        def __init__(self) -> None:
            """Reach no broker."""

        def send(self, task: str, *args: Any) -> bool:
            if task == routing.CLAIMS_CREATE and not said:
                said.append(args[0])
                own = (args[0]["call"],)
                answers = world.services.answers
                answers.tell(*place, bound)
                answers.tell(*place, ClaimAnswer(phase="Bound", pod_name="p2", version=7, calls=own))
                answers.tell(*place, bound)
                answers.tell(*place, ClaimAnswer(problem="no", calls=("another",)))
                world.redis.xadd(f"berthmaster:claims:answer:{world.namespace}/a", {"odd": "entry"})
            return True

    client = ClaimClient(Answered(), world.services.answers)
    assert client.claim(asked(world), LONG).pod == "p2"


@pytest.mark.row("CL-41", "CL-42")
def test_a_claim_that_is_asked_for_again_is_renewed(world: ClaimWorld) -> None:
    requests = requests_on(world, world.api)
    requests.create(asked(world))
    assert (world.read()["spec"]["ttl"], RENEWAL in KubeObject(world.read()).annotations) == ("1h", False)
    texts = set[str]()
    for _ in range(2):
        requests.create(asked(world))
        texts.add(KubeObject(world.read()).annotations[RENEWAL])
    assert len(texts) == 2


@pytest.mark.row("CL-41", "CL-42")
@pytest.mark.parametrize(("ttl", "renewals"), [("1h", 1), (None, 0)])
def test_a_claim_is_renewed_once_its_pod_is_there(world: ClaimWorld, ttl: str | None, renewals: int) -> None:
    world.pod("p1")
    desk = ClaimDesk(world)
    ClaimClient(AtOnce(desk), world.services.answers).claim(asked(world, ttl=ttl), LONG)
    assert desk.taken[routing.CLAIMS_RENEW] == renewals


@pytest.mark.row("CL-41")
def test_a_broker_that_is_away_costs_a_failed_call_one_release(world: ClaimWorld) -> None:
    sent = list[str]()

    class Away(Sender):
        def __init__(self) -> None:
            """Reach no broker."""

        def send(self, task: str, *_: Any) -> bool:
            sent.append(task)
            return False

    with pytest.raises(TimeoutError):
        ClaimClient(Away(), world.services.answers).claim(asked(world), SHORT)
    assert sent.count(routing.CLAIMS_RELEASE) == 1


@pytest.mark.row("CL-41")
def test_an_entry_that_nobody_can_read_is_read_once(world: ClaimWorld) -> None:
    key = f"berthmaster:claims:answer:{world.namespace}/a"
    at: Any = world.redis.xadd(key, {"odd": "entry"})
    assert world.services.answers.after(world.namespace, "a", "0-0", SHORT) == (at.decode(), [])
