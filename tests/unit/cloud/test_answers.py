"""Answers that a process shares: one call for many, never older than a caller allows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import count
from threading import Barrier, Event

import pytest

from berthmaster.errors import StaleToken
from tests.support.waiting import eventually
from workers.cloud.aws.shared_answers import SharedAnswers

MINUTE = timedelta(minutes=1)


@pytest.mark.row("CL-08")
def test_two_hundred_who_ask_at_once_are_one_call() -> None:
    answers, asked, start = SharedAnswers(), count(), Barrier(200)

    def ask() -> int:
        start.wait()
        return answers.get("limits", lambda: next(asked), MINUTE)

    with ThreadPoolExecutor(200) as threads:
        told = [each.result() for each in [threads.submit(ask) for _ in range(200)]]
    assert told == [0] * 200


@pytest.mark.row("CL-08", "CL-09")
def test_all_who_come_while_somebody_asks_share_the_next_answer() -> None:
    """That of now may have been asked for before something that they know of."""
    ticks, asked, go = count(), count(), Event()
    seen = list[int]()

    def clock() -> int:
        seen.append(next(ticks))
        return seen[-1]

    def ask() -> int:
        assert go.wait(30)
        return next(asked)

    answers = SharedAnswers(clock)
    with ThreadPoolExecutor(200) as threads:
        first = threads.submit(answers.get, "list", ask)
        eventually(lambda: len(seen) == 2)
        late = [threads.submit(answers.get, "list", ask) for _ in range(199)]
        eventually(lambda: len(seen) == 2 + 199)
        go.set()
        assert first.result() == 0
        assert [each.result() for each in late] == [1] * 199


@pytest.mark.row("CL-09")
def test_a_fresh_answer_knows_of_everything_that_was_done_before() -> None:
    answers, there = SharedAnswers(), ["listener"]
    assert answers.get("list", lambda: list(there)) == ["listener"]
    there.clear()
    assert answers.get("list", lambda: list(there)) == []


@pytest.mark.row("CL-10")
def test_an_answer_counts_from_when_it_was_asked_for() -> None:
    now = [0.0]
    answers, asked = SharedAnswers(lambda: now[0]), count()

    def slowly() -> int:
        now[0] += 50
        return next(asked)

    assert answers.get("limits", slowly, MINUTE) == 0
    now[0] = 60
    assert answers.get("limits", slowly, MINUTE) == 0
    now[0] = 60.1
    assert answers.get("limits", slowly, MINUTE) == 1


def test_a_question_that_failed_is_asked_again() -> None:
    answers = SharedAnswers()
    with pytest.raises(ZeroDivisionError):
        answers.get("limits", lambda: 1 // 0, MINUTE)
    assert answers.get("limits", lambda: 2, MINUTE) == 2


@pytest.mark.row("EV-09")
def test_who_waits_for_the_call_of_another_keeps_its_lease_meanwhile() -> None:
    answers, begun, kept = SharedAnswers(), Event(), Event()

    def list_that_takes_long() -> bool:
        begun.set()
        return kept.wait(30)

    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(answers.get, "list", list_that_takes_long)
        assert begun.wait(30)
        assert answers.get("list", lambda: "mine", keep=lambda _: kept.set()) == "mine"
        assert first.result()


@pytest.mark.row("EV-09")
def test_who_loses_its_lease_waits_for_no_call() -> None:
    answers, begun, go = SharedAnswers(), Event(), Event()

    def ask() -> None:
        begun.set()
        go.wait(30)

    def lost(_: timedelta) -> None:
        raise StaleToken("taken over")

    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(answers.get, "list", ask)
        assert begun.wait(30)
        with pytest.raises(StaleToken):
            answers.get("list", ask, keep=lost)
        go.set()
        first.result()
