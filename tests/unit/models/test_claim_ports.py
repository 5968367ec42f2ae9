"""The model of a claim whose pod asks for ports: that it holds, and that each rule is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from domain.claims.address import PodAddress, awaited_ports, gives_way
from domain.claims.claim import Claim
from domain.claims.decision import Action, ClaimView, Step, next_step
from domain.claims.pod import PoolPod
from tests.models.claim_ports import Answers, Awaited, Decide, GivesWay, check

Status = Mapping[str, Any]


def real(claim: Claim, address: PodAddress, status: Status, bound_time: str | None) -> str | None:
    return awaited_ports(claim, address, status, bound_time, wait=True)


def real_way(pod: PoolPod, status: Status) -> bool:
    return gives_way(pod, "new", status, None, wait=True)


def keeps_old_pods(pod: PoolPod, status: Status) -> bool:
    del pod, status
    return False


def gives_up_what_was_bound(pod: PoolPod, status: Status) -> bool:
    del status
    return real_way(pod, {})


def gives_back_before_it_clears(claim: Claim, seen: ClaimView) -> Step:
    way = claim.pod is not None and claim.pod in seen.outdated
    return Step(Action.GIVE_BACK, claim.pod) if way else next_step(claim, seen)


REAL = Answers(real, real_way)


def never_waits(claim: Claim, address: PodAddress, status: Status, bound_time: str | None) -> str | None:
    del claim, address, status, bound_time
    return None


def forgets_that_it_was_bound(claim: Claim, address: PodAddress, status: Status, bound_time: str | None) -> str | None:
    return real(claim, address, {}, bound_time) if status else None


def takes_another_pod_for_its_own(
    claim: Claim, address: PodAddress, status: Status, bound_time: str | None
) -> str | None:
    return real(claim, address, dict(status) | {"podName": claim.pod}, bound_time)


@pytest.mark.row("CL-41")
def test_a_claim_is_bound_once_its_pod_had_its_ports_and_stays_so() -> None:
    """Rules portsfirst, staysbound."""
    result = check(REAL)
    assert result.broken is None, result.trace
    assert result.states > 500


@pytest.mark.row("CL-41")
def test_no_claim_waits_on_an_outdated_pod_or_gives_back_one_that_it_is_shown_bound_to() -> None:
    """Rule givesway."""
    result = check(REAL, rolls=True)
    assert result.broken is None, result.trace
    assert result.states > 500


@pytest.mark.row("CL-41")
@pytest.mark.parametrize(
    ("way", "decide", "broken"),
    [
        (keeps_old_pods, next_step, "stuck"),
        (gives_up_what_was_bound, gives_back_before_it_clears, "givesway"),
        (real_way, gives_back_before_it_clears, "givesway"),
    ],
)
def test_each_part_of_giving_way_is_needed(way: GivesWay, decide: Decide, broken: str) -> None:
    """Rule givesway."""
    assert check(Answers(real, way, decide), rolls=True).broken == broken


@pytest.mark.row("CL-41")
@pytest.mark.parametrize(
    ("awaited", "broken"),
    [
        (never_waits, "portsfirst"),
        (takes_another_pod_for_its_own, "portsfirst"),
        (forgets_that_it_was_bound, "staysbound"),
    ],
)
def test_each_answer_is_needed(awaited: Awaited, broken: str) -> None:
    """Rules portsfirst, staysbound."""
    assert check(REAL._replace(awaited=awaited)).broken == broken


@pytest.mark.row("CL-41")
def test_a_claim_that_no_change_of_its_pod_wakes_shows_old_endpoints() -> None:
    """Rule indexed."""
    assert check(REAL._replace(wakes=False)).broken == "stuck"
