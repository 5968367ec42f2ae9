"""Answers that a process keeps: asked for once at a time, and again when they are old or were taken back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import count
from threading import Barrier

import pytest

from workers.cloud.answers import Answers

MINUTE = timedelta(minutes=1)


@pytest.mark.row("CL-08")
def test_two_hundred_who_ask_at_once_are_one_call() -> None:
    answers, asked, start = Answers(), count(), Barrier(200)

    def ask() -> int:
        start.wait()
        return answers.get("limits", MINUTE, lambda: next(asked))

    with ThreadPoolExecutor(200) as threads:
        told = [each.result() for each in [threads.submit(ask) for _ in range(200)]]
    assert told == [0] * 200


@pytest.mark.row("CL-10")
def test_an_answer_counts_from_when_it_was_asked_for() -> None:
    now = [0.0]
    answers, asked = Answers(lambda: now[0]), count()

    def slowly() -> int:
        now[0] += 50
        return next(asked)

    assert answers.get("limits", MINUTE, slowly) == 0
    now[0] = 59
    assert answers.get("limits", MINUTE, slowly) == 0
    now[0] = 60
    assert answers.get("limits", MINUTE, slowly) == 1


@pytest.mark.row("CL-09")
def test_what_was_taken_back_is_asked_for_again() -> None:
    answers, asked = Answers(), count()
    answers.get("list", MINUTE, lambda: next(asked))
    answers.forget("list")
    assert answers.get("list", MINUTE, lambda: next(asked)) == 1


@pytest.mark.row("CL-09")
def test_an_answer_asked_for_before_a_change_is_not_kept() -> None:
    answers = Answers()

    def while_it_changes() -> str:
        answers.forget("list")
        return "old"

    assert answers.get("list", MINUTE, while_it_changes) == "old"
    assert answers.get("list", MINUTE, lambda: "new") == "new"


def test_a_question_that_failed_is_asked_again() -> None:
    answers = Answers()
    with pytest.raises(ZeroDivisionError):
        answers.get("limits", MINUTE, lambda: 1 // 0)
    assert answers.get("limits", MINUTE, lambda: 2) == 2
