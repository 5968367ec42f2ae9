"""The Lease: one holder, numbers that only grow, and every write conditional on what was read."""

from __future__ import annotations

import time
from datetime import timedelta
from threading import Barrier, Thread
from typing import Any

import pytest

from events.kube.api import KubeApi, Unavailable
from events.publisher.lease import Lease
from events.settings import KubernetesSettings, LeaseSettings
from tests.support.servers.publishing import LEASES
from tests.support.servers.scripted_watch import Json, ScriptedApi
from tests.support.waiting import eventually

QUICK: dict[str, Any] = {
    "duration": timedelta(seconds=1),
    "renew_deadline": timedelta(milliseconds=800),
    "retry_every": timedelta(milliseconds=5),
}
NAME = "default/berthmaster-publisher"


def candidate(api: ScriptedApi, identity: str, **settings: Any) -> Lease:
    kube = KubeApi.connect(KubernetesSettings(server=api.url, request_timeout=timedelta(seconds=1)))
    return Lease(kube, LeaseSettings(**{**QUICK, **settings}), identity)


def stored(api: ScriptedApi) -> Json:
    return api.world.objects[LEASES][NAME]


def test_the_first_candidate_creates_the_lease_and_holds_it(api: ScriptedApi) -> None:
    first = candidate(api, "one")
    assert first.try_acquire()
    assert (first.held, stored(api)["spec"]["holderIdentity"]) == (True, "one")


def test_a_second_candidate_waits_while_the_holder_renews(api: ScriptedApi) -> None:
    first, second = candidate(api, "one"), candidate(api, "two")
    first.try_acquire()
    assert not second.try_acquire()
    started = time.monotonic()
    while time.monotonic() - started < 1.5:
        assert first.renew()
        assert not second.try_acquire()


def test_a_silent_holder_is_followed_within_its_duration_and_the_number_grows(api: ScriptedApi) -> None:
    first, second = candidate(api, "one"), candidate(api, "two")
    first.try_acquire()
    started = time.monotonic()
    eventually(second.try_acquire)
    assert time.monotonic() - started >= 0.9
    assert second.number == first.number + 1
    assert not first.held


def test_a_holder_stops_by_its_own_clock_before_anybody_may_follow(api: ScriptedApi) -> None:
    first = candidate(api, "one")
    first.try_acquire()
    assert first.settings.renew_deadline < first.settings.duration
    eventually(lambda: not first.held, timeout=2)
    assert not candidate(api, "two").try_acquire()


def test_a_released_lease_is_taken_at_once(api: ScriptedApi) -> None:
    first, second = candidate(api, "one"), candidate(api, "two")
    first.try_acquire()
    first.release()
    assert not first.held
    assert second.try_acquire()
    assert second.number == 1


def test_a_holder_that_lost_the_lease_hears_so_when_it_renews(api: ScriptedApi) -> None:
    first = candidate(api, "one")
    first.try_acquire()
    api.world.put(LEASES, {**stored(api), "spec": {**stored(api)["spec"], "holderIdentity": "two"}})
    assert not first.renew()
    assert not first.held


def test_a_lease_that_was_deleted_is_lost(api: ScriptedApi) -> None:
    first = candidate(api, "one")
    first.try_acquire()
    api.world.delete(LEASES, NAME)
    assert not first.renew()
    assert first.try_acquire()


def test_somebody_who_labels_the_lease_takes_it_from_nobody(api: ScriptedApi) -> None:
    first = candidate(api, "one")
    first.try_acquire()
    api.world.put(LEASES, {**stored(api), "metadata": {**stored(api)["metadata"], "labels": {"a": "b"}}})
    assert first.renew()
    assert stored(api)["metadata"]["labels"] == {"a": "b"}


def test_a_holder_whose_time_ran_out_takes_its_own_lease_back_under_a_new_number(api: ScriptedApi) -> None:
    first = candidate(api, "one", renew_deadline=timedelta(milliseconds=10))
    first.try_acquire()
    eventually(lambda: not first.held)
    assert first.try_acquire()
    assert first.number == 1


def test_an_api_that_does_not_answer_takes_nothing_from_the_holder_until_its_time_is_over(api: ScriptedApi) -> None:
    first = candidate(api, "one")
    first.try_acquire()
    first.kube = candidate_of_nowhere().kube
    with pytest.raises(Unavailable):
        first.renew()
    assert first.held
    eventually(lambda: not first.held, timeout=2)


def test_a_renewal_that_waited_for_an_outbid_does_not_take_the_number_back(api: ScriptedApi) -> None:
    first = candidate(api, "one", renew_deadline=timedelta(seconds=10), duration=timedelta(seconds=20))
    first.try_acquire()
    first.lock.acquire()
    renewal = Thread(target=first.renew)
    renewal.start()
    assert first.outbid(41)
    first.lock.release()
    renewal.join()
    assert (first.number, stored(api)["spec"]["leaseTransitions"]) == (42, 42)


def test_of_many_candidates_at_once_one_wins(api: ScriptedApi) -> None:
    candidates = [candidate(api, f"c{number}") for number in range(6)]
    start = Barrier(len(candidates))

    def race(one: Lease) -> None:
        start.wait()
        one.try_acquire()

    for held_by_none in (True, False):
        if not held_by_none:
            next(one for one in candidates if one.held).release()
            start.reset()
        threads = [Thread(target=race, args=(one,)) for one in candidates]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(one.held for one in candidates) == 1


def candidate_of_nowhere() -> Lease:
    """Its API server does not exist."""
    settings = KubernetesSettings(server="http://127.0.0.1:1", request_timeout=timedelta(seconds=1))
    return Lease(KubeApi.connect(settings), LeaseSettings(**QUICK), "nobody")
