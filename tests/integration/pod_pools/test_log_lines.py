"""Each transition of a slot and of a pod is one line of the log."""

from __future__ import annotations

import pytest
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from tests.integration.pod_pools.conftest import MakePool
from tests.integration.pod_pools.test_draining import answers, given_back
from tests.support.claims.claimant import Claimant
from tests.support.log_lines import told


@pytest.mark.row("EV-17")
def test_each_transition_of_a_pod_and_its_jobs_is_one_line(make_pool: MakePool) -> None:
    pool = make_pool(maxReplicas=1)
    with capture_logs() as lines:
        pool.slots.submit("j")
        pool.settle()
        (name,) = pool.names()
        pool.finish_all()
        pool.settle(8)
        assert pool.pods() == []
    about = {"pool": pool.slots.ledger.pool}
    expected: list[tuple[str, dict[str, object]]] = [
        ("pool_resized", {"change": 1, "size": 1}),
        ("pod_created", {"pod": name}),
        ("pod_cared_for", {"pod": name, "care": "open"}),
        ("job_placed", {"job": "j", "pod": name, "phase": "plan"}),
        ("pool_resized", {"change": -1, "size": 0}),
        ("pod_fenced", {"pod": name}),
        ("pod_deleted", {"pod": name}),
    ]
    counts = [(event, len(told(lines, event, **about, **facts))) for event, facts in expected]
    assert counts == [(event, 1) for event, _ in expected]


@pytest.mark.row("EV-17")
def test_a_size_that_claims_make_smaller_is_told_with_its_change(make_pool: MakePool) -> None:
    """A pod that is warm again is one more than the pool keeps, until a claim takes one."""
    claimant = given_back(make_pool, maxReplicas=2, scaling={"downCooldown": "1h"})
    pool = claimant.pool
    pool.run()
    answers(claimant, 0)
    pool.run()
    assert Claimant(pool, "claim-2").take()
    with capture_logs() as lines:
        pool.run()
    resized = [(line["size"], line["change"], line["reason"]) for line in told(lines, "pool_resized")]
    assert resized == [(1, -1, "claims have taken pods")]


@pytest.mark.row("EV-17")
def test_lines_of_pods_that_are_made_side_by_side_have_what_the_run_binds(make_pool: MakePool) -> None:
    pool = make_pool(minReplicas=3, maxReplicas=3)
    with capture_logs([merge_contextvars]) as lines:
        pool.run()
    created = told(lines, "pod_created", key=pool.key, tries=0)
    assert len({line["pod"] for line in created}) == 3
    assert len({line["token"] for line in created}) == 1
