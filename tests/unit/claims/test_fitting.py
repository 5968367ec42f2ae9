"""Whether a claim can have a pod, and why not."""

from __future__ import annotations

import pytest

from domain.claims.fitting import unfit
from domain.claims.pod import Phase, PoolPod
from domain.claims.pod_request import PodRequest
from tests.unit.claims.support import bound, pod

BIG = {"size": "big"}


@pytest.mark.parametrize(
    ("candidate", "why"),
    [
        (pod("a", labels=BIG), None),
        (pod("a", pool=None, labels=BIG), "it is of no pool"),
        (pod("a", pool="cold", labels=BIG), "it is of pool cold, and the claim wants one of warm"),
        (pod("a"), "it lacks the labels size=big"),
        (bound("a", "c2", labels=BIG), "claim c2 has it"),
        (pod("a", terminating=True, labels=BIG), "it is being deleted"),
        (pod("a", Phase.DRAINING, labels=BIG), "it is Draining"),
        (pod("a", alive=False, labels=BIG), "it does not run"),
        (pod("a", cordoned=True, labels=BIG), "it is cordoned"),
        (pod("a", normal=False, labels=BIG), "it is not ready, or is being changed"),
        (pod("a", revision="r0", labels=BIG), "it is of an older template of its pool"),
    ],
)
@pytest.mark.row("WC-08", "WC-28")
def test_a_pod_will_do_or_it_is_said_why_not(candidate: PoolPod, why: str | None) -> None:
    assert unfit(PodRequest("warm", BIG), candidate, "r1") == why
