"""The index of claims in Redis: who names a pod, which pods a claim tried, who waits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from redis import Redis

from domain.kubernetes.objects import Pod
from events.protocol.claim_index import concerned
from workers.stores.claims.index import ClaimIndex
from workers.stores.claims.waiting import WaitingClaim, WaitingClaims

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def changed(redis: Redis, pod: str, claimed_by: str = "") -> set[str]:
    labels = {"berthmaster.dev/claimed-by": claimed_by} if claimed_by else {}
    return concerned(redis, [Pod({"metadata": {"namespace": "games", "name": pod, "labels": labels}})])


@pytest.mark.row("WC-18")
def test_a_pod_wakes_the_claims_that_name_it_or_that_its_label_names(redis: Redis) -> None:
    index = ClaimIndex(redis)
    index.remember("games", "a", "uid-a", ["p1", "p2"])
    index.remember("games", "b", "uid-b", [])
    assert changed(redis, "p1") == {"podclaim/games/a"}
    assert changed(redis, "p2", "uid-b") == {"podclaim/games/a", "podclaim/games/b"}
    index.remember("games", "a", "uid-a", ["p2"])
    assert changed(redis, "p1") == set()


def test_a_claim_that_was_made_anew_takes_the_place_of_the_old_one(redis: Redis) -> None:
    index = ClaimIndex(redis)
    index.remember("games", "a", "old", ["p1"])
    index.remember("games", "a", "new", ["p2"])
    assert changed(redis, "p1", "old") == set()
    index.forget("games", "a", "old")
    assert changed(redis, "p2", "new") == {"podclaim/games/a"}
    index.forget("games", "a")
    assert changed(redis, "p2", "new") == set()
    assert list(redis.scan_iter("{claims:games}*")) == []


@pytest.mark.row("WC-05")
def test_pods_that_other_claims_name_are_told(redis: Redis) -> None:
    index = ClaimIndex(redis)
    index.remember("games", "a", "uid-a", ["p1"])
    index.remember("games", "b", "uid-b", ["p1", "p2"])
    assert index.named_by_others("games", ["p1", "p2", "p3"], "b") == {"p1"}
    assert index.remembered("games", ["uid-a", "uid-c"]) == {"uid-a": "a"}


def test_what_was_tried_under_another_server_is_not_known_to_be_all(redis: Redis) -> None:
    index = ClaimIndex(redis)
    index.tries("games", "uid-a", "p0")
    assert index.tried("games", "uid-a") is None
    index.may_have_tried("games", "uid-a", ["p1"])
    index.tries("games", "uid-a", "p2")
    index.has_left("games", "uid-a", "p1")
    assert index.tried("games", "uid-a") == frozenset({"p0", "p2"})
    redis.hset("{claims:games}tried:uid-a", "", "an older server")
    assert index.tried("games", "uid-a") is None


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
    young = WaitingClaim("a", "uid-a", "2026-01-01T12:00:01Z", pool="warm", only=True)
    old = WaitingClaim("b", "uid-b", "2026-01-01T12:00:00Z", selector={"size": "big"})
    assert waiting.put("games", young)
    assert waiting.put("games", old)
    assert not waiting.put("games", old)
    assert waiting.all("games") == (old, young)
    assert young.fits("warm", {})
    assert not young.fits("cold", {})
    assert old.fits("cold", {"size": "big", "other": "x"})
    assert not old.fits("cold", {})
    ClaimIndex(redis).forget("games", "b")
    ClaimIndex(redis).forget("games", "a", "uid-of-one-before-it")
    assert waiting.all("games") == (young,)
    ClaimIndex(redis).forget("games", "a", "uid-a")
    assert waiting.all("games") == ()
