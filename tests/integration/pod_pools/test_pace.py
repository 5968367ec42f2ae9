"""Runs of a large pool leave workers time for others, on both Kubernetes servers."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta

import pytest

from domain.outcome import Settled, Wait
from tests.integration.pod_pools.conftest import MakePool
from tests.support.faults.interposed_kube import InterposedKube
from tests.support.waiting import eventually
from workers.pod_pools.observe import postpone_next_run, time_to_next_run


@pytest.mark.row("WC-48", "WC-36")
def test_a_run_of_a_large_pool_that_comes_too_soon_lists_nothing(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=2, maxReplicas=9)
    pool.settle()
    assert (time_to_next_run(pool.slots.ledger), isinstance(pool.run(), Settled)) == (timedelta(0), True)
    postpone_next_run(pool.slots.ledger, timedelta(seconds=100))
    assert timedelta(seconds=50) < time_to_next_run(pool.slots.ledger) <= timedelta(minutes=1)
    pool.change(minReplicas=3)
    outcome = pool.run()
    assert isinstance(outcome, Wait)
    assert outcome.for_ > timedelta(seconds=50)
    assert len(pool.pods()) == 2
    postpone_next_run(pool.slots.ledger, timedelta(0))
    eventually(lambda: isinstance(pool.run(), Settled), 5)
    assert len(pool.pods()) == 3


def test_a_run_is_followed_by_a_pause_if_it_saw_many_pods(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=2, maxReplicas=9)
    slow = InterposedKube(pool.api, "GET", "/pods", lambda _: time.sleep(0.5), times=2)
    pool.services = replace(pool.services, many=2, kube=slow)
    pool.run()
    assert time_to_next_run(pool.slots.ledger) == timedelta(0)
    pool.run()
    assert time_to_next_run(pool.slots.ledger) > timedelta(0)


def test_what_a_run_did_for_its_pods_is_no_reason_to_do_the_rest_later(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=3, maxReplicas=9)
    slow = InterposedKube(pool.api, "POST", "/pods", lambda _: time.sleep(2), times=1)
    pool.services = replace(pool.services, many=0, kube=slow)
    pool.run()
    assert len(pool.pods()) == 3
    assert time_to_next_run(pool.slots.ledger) < timedelta(seconds=4 * 2)


def test_a_large_pool_that_goes_waits_for_nothing(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=1, maxReplicas=1)
    pool.settle()
    postpone_next_run(pool.slots.ledger, timedelta(seconds=10))
    pool.api.delete(f"{pool.path}/runners")
    pool.kubelet()
    assert "last run" not in str(pool.run())
