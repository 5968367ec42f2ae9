"""Which pods a claim tries first."""

from __future__ import annotations

from typing import Any

import pytest

from domain.claims.candidates import candidates
from domain.claims.claim import Claim
from domain.claims.pod import Phase, PoolPod
from domain.claims.pod_request import PodRequest
from tests.unit.claims.support import bound, pod


def names(claim: Claim, *pods: PoolPod, named: tuple[str, ...] = ()) -> list[str]:
    return [p.name for p in candidates(claim, pods, {"warm": "r1"}, named)]


def test_the_last_pod_of_the_owner_comes_first_then_the_older() -> None:
    asked = Claim("c1", owner="ada")
    pods = pod("new", age=59), pod("old", age=61), pod("known", age=1, last_owner="ada"), pod("other", last_owner="bob")
    assert names(asked, *pods) == ["known", "old", "new", "other"]


@pytest.mark.row("CL-41")
def test_pods_without_their_ports_come_last_for_a_claim_that_waits_for_ports() -> None:
    pods = pod("old", age=61, lacks_ports=True), pod("new"), pod("known", last_owner="ada", lacks_ports=True)
    assert names(Claim("c1", owner="ada"), *pods) == ["new", "known", "old"]
    assert names(Claim("c1", owner="ada", waits_for_ports=False), *pods) == ["known", "old", "new"]


def test_no_owner_is_nobodys_last_owner() -> None:
    assert names(Claim("c1"), pod("a", age=1), pod("b", age=2)) == ["b", "a"]


@pytest.mark.parametrize(
    "rest",
    [
        {"phase": Phase.UNKNOWN},
        {"phase": Phase.DRAINING},
        {"phase": Phase.TERMINATING},
        {"claimed_by": "c2"},
        {"normal": False},
        {"alive": False},
        {"terminating": True},
        {"cordoned": True},
        {"revision": "r0"},
        {"pool": "cold"},
        {"labels": {"size": "small"}},
    ],
    ids=str,
)
def test_a_pod_that_is_not_free_or_not_asked_for_is_left_alone(rest: dict[str, Any]) -> None:
    good: dict[str, Any] = {"labels": {"size": "large", "zone": "a"}}
    asked = Claim("c1", PodRequest("warm", {"size": "large"}))
    assert names(asked, pod("bad", **(good | rest)), pod("good", **good)) == ["good"]


def test_a_pod_that_another_claim_names_is_not_tried() -> None:
    assert names(Claim("c1"), pod("a"), pod("b"), named=("a",)) == ["b"]


def test_a_bound_pod_is_no_candidate_for_anybody() -> None:
    assert names(Claim("c1"), bound("a", "c1"), bound("b", "c2")) == []
