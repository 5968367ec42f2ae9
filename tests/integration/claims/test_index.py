"""The index of claims in Redis: who names a pod, which pods a claim tried, who waits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from redis import Redis

from domain.claims.pod_request import PodRequest
from domain.kubernetes.objects import Pod
from events.protocol.claim_index import concerned, own_event_script
from workers.stores.claims.index import ClaimIndex
from workers.stores.claims.shown import ShownClaim, record_of, shown_claims
from workers.stores.claims.waiting import WaitingClaim, WaitingClaims

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
BOUND = record_of({"phase": "Bound"})


def changed(redis: Redis, pod: str, claimed_by: str = "") -> set[str]:
    labels = {"berthmaster.dev/claimed-by": claimed_by} if claimed_by else {}
    return concerned(redis, [Pod({"metadata": {"namespace": "games", "name": pod, "labels": labels}})])


@pytest.mark.row("WC-18")
def test_a_pod_wakes_the_claims_that_name_it_or_that_its_label_names(redis: Redis) -> None:
    index = ClaimIndex(redis)
    index.remember("games", "a", "uid-a", ["p1", "p2"], "run")
    index.remember("games", "b", "uid-b", [], "run")
    assert changed(redis, "p1") == {"podclaim/games/a"}
    assert changed(redis, "p2", "uid-b") == {"podclaim/games/a", "podclaim/games/b"}
    index.remember("games", "a", "uid-a", ["p2"], "run")
    assert changed(redis, "p1") == set()


def test_a_claim_that_was_made_anew_takes_the_place_of_the_old_one(redis: Redis) -> None:
    index = ClaimIndex(redis)
    index.remember("games", "a", "old", ["p1"], "run")
    index.remember("games", "a", "new", ["p2"], "run")
    assert changed(redis, "p1", "old") == set()
    index.forget("games", "a", "old")
    assert changed(redis, "p2", "new") == {"podclaim/games/a"}
    index.forget("games", "a")
    assert changed(redis, "p2", "new") == set()
    assert list(redis.scan_iter("{claims:games}*")) == []


@pytest.mark.row("WC-05")
def test_pods_that_other_claims_name_are_told(redis: Redis) -> None:
    index = ClaimIndex(redis)
    index.remember("games", "a", "uid-a", ["p1"], "run")
    index.remember("games", "b", "uid-b", ["p1", "p2"], "run")
    assert index.named_by_others("games", ["p1", "p2", "p3"], "b") == {"p1"}
    assert index.remembered("games", ["uid-a", "uid-c"]) == {"uid-a": "a"}


def test_what_was_tried_under_another_server_is_not_known_to_be_all(redis: Redis) -> None:
    index = ClaimIndex(redis)

    def tried() -> frozenset[str] | None:
        return index.remember("games", "a", "uid-a", [], "run").tried

    index.tries("games", "a", "uid-a", "p0", "run")
    assert tried() is None
    index.may_have_tried("games", "uid-a", ["p1"])
    index.tries("games", "a", "uid-a", "p2", "run")
    index.has_left("games", "uid-a", "p1")
    assert tried() == frozenset({"p0", "p2"})
    redis.hset("{claims:games}tried:uid-a", "", "an older server")
    assert tried() is None


@pytest.mark.row("WC-18")
def test_a_pod_that_a_claim_is_about_to_take_wakes_it_beside_those_that_it_names(redis: Redis) -> None:
    index = ClaimIndex(redis)
    index.remember("games", "a", "uid-a", ["p1"], "run")
    index.tries("games", "a", "uid-a", "p2", "run")
    index.tries("games", "a", "uid-a", "p2", "run")
    assert (changed(redis, "p1"), changed(redis, "p2")) == ({"podclaim/games/a"}, {"podclaim/games/a"})
    assert index.named_by_others("games", ["p1", "p2"], "b") == {"p1"}  # which it may never get
    index.remember("games", "a", "uid-a", ["p1"], "run")
    assert changed(redis, "p2") == set()


def test_a_late_run_of_a_claim_that_was_made_anew_names_nothing_for_it(redis: Redis) -> None:
    index = ClaimIndex(redis)
    index.remember("games", "a", "new", [], "run")
    index.tries("games", "a", "old", "p1", "run")
    assert changed(redis, "p1") == set()


def test_what_is_stored_of_a_claim_is_told_when_it_is_remembered(redis: Redis) -> None:
    index, waiting = ClaimIndex(redis), WaitingClaims(redis)
    assert index.remember("games", "a", "uid-a", [], "run")[1:] == (False, False)
    index.missing_since("games", "uid-a", "p1", NOON)
    waiting.put("games", WaitingClaim("a", "uid-a", ""))
    assert index.remember("games", "a", "uid-a", [], "run")[1:] == (True, True)


@pytest.mark.row("WC-48")
def test_a_pod_is_missing_since_it_was_first_missed(redis: Redis) -> None:
    index, later = ClaimIndex(redis), NOON + timedelta(seconds=7)
    assert index.missing_since("games", "uid-a", "p1", NOON) == NOON
    assert index.missing_since("games", "uid-a", "p1", later) == NOON
    assert index.missing_since("games", "uid-a", "p2", later) == later
    index.forget_missing("games", "uid-a")
    assert index.missing_since("games", "uid-a", "p2", NOON) == NOON


def test_the_index_is_compared_a_while_after_redis_was_new_and_then_once_a_period(redis: Redis) -> None:
    index, period = ClaimIndex(redis), timedelta(minutes=10)
    assert not index.due("games", period)
    redis.set("{claims:games}checked", redis.time()[0] - 599)
    assert not index.due("games", period)
    redis.set("{claims:games}checked", redis.time()[0] - 601)
    assert index.due("games", period)
    assert not index.due("games", period)
    assert redis.ttl("{claims:games}checked") > 600


def test_claims_wait_oldest_first(redis: Redis) -> None:
    waiting = WaitingClaims(redis)
    young = WaitingClaim("a", "uid-a", "2026-01-01T12:00:01Z", "warm", PodRequest("warm"))
    old = WaitingClaim("b", "uid-b", "2026-01-01T12:00:00Z", request=PodRequest(selector={"size": "big"}))
    assert waiting.put("games", young)
    assert waiting.put("games", old)
    assert not waiting.put("games", old)
    assert waiting.all("games") == (old, young)
    ClaimIndex(redis).forget("games", "b")
    ClaimIndex(redis).forget("games", "a", "uid-of-one-before-it")
    assert waiting.all("games") == (young,)
    ClaimIndex(redis).forget("games", "a", "uid-a")
    assert waiting.all("games") == ()


def test_an_entry_that_another_version_wrote_is_read(redis: Redis) -> None:
    """During a rollout: fields of a newer version are ignored, and fields that an older version lacks have defaults."""
    waiting, head = WaitingClaims(redis), {"since": "2026-01-01T12:00:00Z"}
    entries: dict[str, dict[str, Any]] = {
        "bare": {"uid": "u1"},
        "newer": {"uid": "u2", "pool": "warm", "only": "warm", "selector": {}, "zone": "a", "owner": {"name": "ada"}},
        "older": {"uid": "u3", "pool": "warm", "only": True, "owner": "ada", "selector": {"size": "big"}},
        "unbound": {"uid": "u4", "pool": "", "only": False, "owner": "", "selector": {"size": "big"}},
    }
    for name, entry in entries.items():
        redis.hset("{claims:games}waiting", name, orjson.dumps(head | {"name": name} | entry))
    read = {claim.name: (claim.uid, claim.pool, claim.request) for claim in waiting.all("games")}
    assert read == {
        "bare": ("u1", None, PodRequest()),
        "newer": ("u2", "warm", PodRequest("warm")),
        "older": ("u3", "warm", PodRequest("warm", {"size": "big"})),
        "unbound": ("u4", None, PodRequest(selector={"size": "big"})),
    }


def test_an_older_version_reads_an_entry(redis: Redis) -> None:
    """It refuses every field but these, takes `only` for true or false, and `pool` for the pool that must fit then."""
    request = PodRequest("warm", {"size": "big"})
    WaitingClaims(redis).put("games", WaitingClaim("a", "uid-a", "2026-01-01T12:00:01Z", "warm", request))
    stored: Any = redis.hget("{claims:games}waiting", "a")
    entry = orjson.loads(stored)
    assert entry.keys() <= {"name", "uid", "since", "pool", "only", "owner", "selector"}
    assert (entry["pool"], bool(entry["only"]), entry["selector"]) == ("warm", True, {"size": "big"})


def bound(version: int, run: str = "run-1", claimed_by: str = "uid-a") -> Pod:
    labels, notes = {"berthmaster.dev/claimed-by": claimed_by}, {"berthmaster.dev/touched": run}
    metadata = {"namespace": "games", "name": "p1", "labels": labels, "annotations": notes}
    return Pod({"metadata": {**metadata, "resourceVersion": str(version)}})


def woken(redis: Redis, pod: Pod) -> bool:
    """Whether the event of this version wakes the claim."""
    return concerned(redis, [pod], own_event_script(redis)) == {"podclaim/games/a"}


def tried(redis: Redis, run: str = "run-1") -> ClaimIndex:
    index = ClaimIndex(redis)
    index.remember("games", "a", "uid-a", [], run)
    index.tries("games", "a", "uid-a", "p1", run)
    return index


@pytest.mark.row("WC-49")
@pytest.mark.parametrize("ends_first", [False, True])
def test_the_event_of_a_run_s_own_write_wakes_nobody_and_the_next_one_does(redis: Redis, ends_first: bool) -> None:
    """Rule expected."""
    index = tried(redis)
    if not ends_first:
        assert not woken(redis, bound(7))
    assert index.shows("games", "a", "uid-a", BOUND, "run-1", bound(7))
    if ends_first:
        assert not woken(redis, bound(7))
    assert woken(redis, bound(8))
    assert index.named_by_others("games", ["p1"], "b") == {"p1"}


@pytest.mark.row("WC-49")
@pytest.mark.parametrize("ends_first", [False, True])
def test_a_later_version_is_not_taken_for_a_write_whose_event_was_left_out(redis: Redis, ends_first: bool) -> None:
    """Rule ownpodversion."""
    index = tried(redis)
    if ends_first:
        assert index.shows("games", "a", "uid-a", BOUND, "run-1", bound(7))
        assert woken(redis, bound(8))
    else:
        woken(redis, bound(8))
        assert not index.shows("games", "a", "uid-a", BOUND, "run-1", bound(7))


@pytest.mark.row("WC-49")
def test_a_write_of_a_run_that_another_has_followed_wakes_the_claim(redis: Redis) -> None:
    """Rule expected: such a write may come late, and its run say nothing any more."""
    index = tried(redis)
    index.remember("games", "a", "uid-a", [], "run-2")
    assert woken(redis, bound(7))
    index.tries("games", "a", "uid-a", "p1", "run-1")
    assert woken(redis, bound(7))
    assert index.shows("games", "a", "uid-a", BOUND, "run-1", bound(7))
    assert woken(redis, bound(7))


@pytest.mark.row("UI-13")
def test_what_the_status_of_a_claim_says_is_kept_and_goes_with_the_claim(redis: Redis) -> None:
    index = tried(redis)
    condition = {"type": "Bound", "status": "True", "reason": "HasPod", "message": "it has pod p1"}
    endpoint = {"name": "game", "address": "lb.example:30000", "protocol": "UDP", "status": "Ready", "port": 30000}
    where = {"podName": "p1", "nodeName": "n1", "podIPs": ["10.0.0.9"], "endpoints": [endpoint]}
    index.shows(
        "games", "a", "uid-a", record_of({"phase": "Bound", "conditions": [condition], **where}, "s"), "run-1", None
    )
    (claim, other) = shown_claims(redis, ["games/a", "games/b"])
    assert (claim.conditions, claim.endpoints) == (
        (("Bound", "True", "HasPod", "it has pod p1"),),
        (("game", "lb.example:30000", "UDP", "Ready"),),
    )
    assert (claim.pod, claim.node, claim.ips, claim.claim_set, other) == ("p1", "n1", ("10.0.0.9",), "s", ShownClaim())
    index.forget("games", "a", "uid-a")
    assert shown_claims(redis, ["games/a"]) == [ShownClaim()]


def test_a_run_that_ends_without_a_pod_expects_nothing_any_more(redis: Redis) -> None:
    index = tried(redis)
    assert index.shows("games", "a", "uid-a", record_of({"phase": "Pending"}), "run-1", None)
    assert woken(redis, bound(7))


def test_of_several_events_in_one_round_trip_each_is_told(redis: Redis) -> None:
    tried(redis)
    assert concerned(redis, [bound(7), bound(8)], own_event_script(redis)) == {"podclaim/games/a"}
