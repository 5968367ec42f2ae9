"""A pod that was given back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from domain.claims.draining import Drain, DrainWait, Next, SessionReport, due, in_order, next_of, parse_report

WAIT = DrainWait(timedelta(seconds=15), timedelta(minutes=5))


def after(seconds: float, recycle: bool = True, **rest: Any) -> Next:
    return next_of(Drain("d2", timedelta(seconds=seconds), **rest), WAIT, recycle)


def test_it_is_asked_once_no_new_session_can_come() -> None:
    """Rule settle."""
    assert after(14.9) is Next.WAIT
    assert after(15) is Next.ASK
    assert after(15, asked="d1") is Next.ASK
    assert after(16, asked="d2") is Next.WAIT


@pytest.mark.parametrize("answers", ["", "d1"])
def test_only_an_answer_to_this_drain_counts(answers: str) -> None:
    """Rule ask: a report of the round before says nothing about this one."""
    assert after(20, asked="d2", report=SessionReport(0, answers)) is Next.WAIT
    assert after(20, asked="d2", report=SessionReport(0, "d2")) is Next.IDLE


@pytest.mark.parametrize("report", [None, SessionReport(1, "d2"), SessionReport(900, "d2")])
def test_a_pod_with_sessions_or_without_a_number_is_not_idle(report: SessionReport | None) -> None:
    assert after(20, asked="d2", report=report) is Next.WAIT


def test_an_answer_counts_only_once_the_drain_has_been_published() -> None:
    """Rule ask."""
    assert after(20, report=SessionReport(0, "d2")) is Next.ASK
    assert after(20, asked="d1", report=SessionReport(0, "d1")) is Next.ASK


def test_a_drain_without_a_record_waits_whatever_is_reported() -> None:
    assert next_of(Drain(None, timedelta(0), report=SessionReport(0, "d2")), WAIT, recycle=True) is Next.WAIT


@pytest.mark.parametrize("report", [{}, {"asked": "d2"}, {"asked": "d2", "report": SessionReport(3, "d2")}])
def test_when_the_time_is_over_it_goes_and_is_never_idle(report: dict[str, Any]) -> None:
    assert after(300, **report) is Next.GO


def test_a_pool_that_does_not_recycle_lets_it_drain_first() -> None:
    assert after(20, recycle=False, asked="d2") is Next.WAIT
    assert after(20, recycle=False, asked="d2", report=SessionReport(0, "d2")) is Next.GO


def test_a_pod_of_no_use_is_not_waited_for() -> None:
    assert after(0, usable=False) is Next.GO


@pytest.mark.row("WC-25")
def test_what_is_of_no_use_ends_first_then_what_has_no_sessions_then_the_oldest() -> None:
    drains = {
        "late": Drain("a", timedelta(minutes=9), report=SessionReport(2, "a")),
        "later": Drain("b", timedelta(minutes=8)),
        "done": Drain("c", timedelta(minutes=1), report=SessionReport(0, "c")),
        "broken": Drain("d", timedelta(0), usable=False),
    }
    assert [name for name, _ in in_order(reversed(drains.items()))] == ["broken", "done", "late", "later"]


@pytest.mark.row("WC-22", "WC-48")
@pytest.mark.parametrize(("since", "asked", "left"), [(0, None, 15), (10, None, 5), (10, "d2", 290), (400, "d2", 0)])
def test_a_drain_is_looked_at_again_in_time(since: float, asked: str | None, left: float) -> None:
    assert due(Drain("d2", timedelta(seconds=since), asked=asked), WAIT) == timedelta(seconds=left)
    shorter = DrainWait(timedelta(minutes=1), timedelta(seconds=30))
    assert due(Drain("d2", timedelta(0)), shorter) == timedelta(seconds=30)


@pytest.mark.row("WC-23")
@pytest.mark.parametrize(
    "report", ["", "0", "0 ", "-1 d2", "many d2", "1.5 d2", " d2", "\u0663 d2", f"{'9' * 5000} d2", "0\n d2"]
)
def test_what_is_no_number_for_a_drain_counts_nothing(report: str) -> None:
    assert parse_report(report) is None
    assert parse_report("3 d2") == SessionReport(3, "d2")
