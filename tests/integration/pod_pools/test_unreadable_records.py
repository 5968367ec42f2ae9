"""A pod whose record of what claims set on it is unreadable: what they set stays, so no other claim has the pod."""

from __future__ import annotations

import pytest

from domain.kubernetes.names import ADDED_ANNOTATIONS, ADDED_LABELS
from tests.integration.pod_pools.conftest import MakePool
from tests.integration.pod_pools.test_draining import answers, given_back, stage
from tests.support.pods.warm import offered


@pytest.mark.row("CL-43")
@pytest.mark.parametrize("record", [ADDED_ANNOTATIONS, ADDED_LABELS])
@pytest.mark.parametrize("text", ["{", "[1]"])
def test_such_a_pod_drains_and_is_replaced(make_pool: MakePool, record: str, text: str) -> None:
    claimant = given_back(make_pool)
    pool = claimant.pool
    pool.api.patch(pool.pod_path(claimant.pod), {"metadata": {"annotations": {record: text}}})
    pool.run()
    assert stage(claimant) == "Draining", "its sessions end first"
    answers(claimant, 0)
    pool.run()
    assert (stage(claimant), offered(pool)) == ("Terminating", [])
