"""The label by which a pool lists its pods may be taken off by hand: it is the pool's by its owner all the same."""

from __future__ import annotations

import pytest

from domain.kubernetes.names import CLAIMED_BY, PHASE, POOL
from tests.integration.pod_pools.conftest import MakePool
from tests.integration.pod_pools.test_held_pods import bound
from tests.support.pods.pod_pool_world import Json, PodPoolWorld

LABELS = pytest.mark.parametrize("label", [None, "another"])


def labels(pool: PodPoolWorld, name: str) -> Json:
    labels_of_pod: Json = pool.api.get(pool.pod_path(name))["metadata"]["labels"]
    return labels_of_pod


def take_off(pool: PodPoolWorld, name: str, label: str | None) -> None:
    pool.api.patch(pool.pod_path(name), {"metadata": {"labels": {POOL: label}}})


@LABELS
@pytest.mark.row("SL-05", "WC-36")
def test_an_idle_pod_gets_its_label_back_and_no_other_is_made_for_it(make_pool: MakePool, label: str | None) -> None:
    pool = make_pool(minReplicas=2, maxReplicas=4)
    pool.settle()
    before = pool.names()
    take_off(pool, min(before), label)
    pool.run()
    assert labels(pool, min(before))[POOL] == "runners"
    pool.settle()
    assert (pool.names(), pool.views()) == (before, ["open", "open"])


@LABELS
@pytest.mark.row("WC-20", "WC-40")
def test_a_bound_pod_gets_its_label_back_and_stays_bound(make_pool: MakePool, label: str | None) -> None:
    pool, _ = bound(make_pool)
    pool.run()  # which protects it
    before = {name: labels(pool, name) for name in pool.names()}
    (held,) = (name for name in before if CLAIMED_BY in before[name])
    take_off(pool, held, label)
    pool.settle()
    assert labels(pool, held) == before[held]
    assert labels(pool, held)[PHASE] == "Bound"
    assert "claimed" in pool.views()


def test_a_pod_that_was_taken_out_of_its_pool_for_good_is_left_alone(make_pool: MakePool) -> None:
    """Without its owner: nobody's, and the pool makes another."""
    pool = make_pool(minReplicas=1, maxReplicas=2)
    pool.settle()
    (name,) = pool.names()
    pool.api.patch(pool.pod_path(name), {"metadata": {"labels": {POOL: None}, "ownerReferences": None}})
    pool.settle()
    assert POOL not in labels(pool, name)
    assert len(pool.names()) == 2
