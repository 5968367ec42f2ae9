"""What a worker tells Prometheus of slots and jobs is what the ledger and Kubernetes have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.pod_pools.conftest import MakePool
from tests.support.jobs.slot_books import read
from tests.support.scrapes import idle_worker


@pytest.mark.row("EV-15")
def test_the_gauges_of_slots_and_jobs_are_a_recount(make_pool: MakePool, redis_url: str, tmp_path: Path) -> None:
    pool = make_pool(minReplicas=2, maxReplicas=2)
    pool.settle()
    for n in range(4):
        pool.slots.submit(f"plan-{n}", "plan", "apply")
    for n in range(5):
        pool.slots.submit(f"job-{n}", "apply")
    pool.settle()
    ended = "plan-0"
    pool.finish_all()
    pool.slots.cancel(ended)
    pool.slots.deliver_all()
    books = read(pool.redis, pool.slots.ledger.prefix)
    used, reserved = books.count("used"), books.count("reserved")
    done = sum(job["s"] == "done" for job in books.jobs.values())
    assert 0 not in (used, reserved, done)
    labels = {"pool": pool.slots.ledger.pool}
    with idle_worker(redis_url, tmp_path) as worker:
        slots = sum(len(pod["s"]) for pod in books.pods.values())
        states = {"running": used, "reserved": reserved, "free": slots - used - reserved, "closed": 0}
        assert worker.states("berthmaster_slots", **labels) == states
        waiting = len(books.jobs) - used - reserved - done
        jobs = {"waiting": waiting, "running": used, "reserved": reserved, "ended": done}
        assert worker.states("berthmaster_jobs", **labels) == jobs
        views = worker.states("berthmaster_pool_pods", **labels)
        assert views == {"new": 0, "open": len(pool.pods()), "fenced": 0, "claimed": 0}
        assert worker.total("berthmaster_pool_size", **labels) == pool.status()["replicas"]
        pool.slots.ledger.quarantine(next(iter(books.pods)))
        assert worker.states("berthmaster_slots", **labels)["running"] < used + reserved
