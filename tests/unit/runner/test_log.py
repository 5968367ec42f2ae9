"""The log of a running attempt: lines of pieces of text, and the thread that writes them."""

from __future__ import annotations

import threading

import pytest
from pydantic import ValidationError

from berthmaster.jobs.runner_ledger import LogBatch
from berthmaster.runner.log import FEWEST, LARGEST, LONGEST, AttemptLog, PrintedLines
from berthmaster.runner.settings import RunnerSettings
from tests.support.waiting import eventually

MOST = 10_000
LONG = "x" * LONGEST


class Paper:
    """What a log was written to. `away`: how many batches are still refused."""

    def __init__(self, away: float = 0) -> None:
        self.batches, self.asked, self.away = list[LogBatch](), list[LogBatch](), away

    def append(self, batch: LogBatch) -> bool:
        self.asked.append(batch)
        if self.away > 0:
            self.away -= 1
            raise ConnectionError("away")
        self.batches.append(batch)
        return True

    def lines(self) -> list[tuple[int, str]]:
        return [
            (number, text)
            for batch in self.batches
            if batch.last >= batch.first
            for number, text in enumerate(batch.text.decode().split("\n"), batch.first)
        ]

    @property
    def ended(self) -> bool:
        return any(batch.ended for batch in self.batches)


@pytest.mark.row("UI-24")
@pytest.mark.parametrize(
    ("pieces", "lines", "rest"),
    [
        (["one\ntwo", " more\n\n"], ["one", "two more", ""], ""),
        (["10 %\r", "20 %\r30 %", "\r100 %\n"], ["100 %"], ""),
        (["windows\r", "\n", "end"], ["windows"], "end"),
        (
            ["x" * LONGEST, "y" * 10, "\nnext\n"],
            ["x" * LONGEST + f" [cut: the line had {LONGEST + 10} characters]", "next"],
            "",
        ),
        (["x" * 2 * LONGEST, "\rshort\n"], ["short"], ""),
        (["x" * 2 * LONGEST, "\r", "short\n"], ["short"], ""),
        (
            ["x" * (LONGEST + 1), "\r", "\n", "next\r"],
            ["x" * LONGEST + f" [cut: the line had {LONGEST + 1} characters]"],
            "next",
        ),
    ],
    ids=["pieces", "progress", "crlf", "long", "long before a return", "long, then a return", "long with crlf"],
)
def test_lines_are_made_as_a_terminal_shows_them(pieces: list[str], lines: list[str], rest: str) -> None:
    buffer = PrintedLines()
    assert [line for piece in pieces for line in buffer.feed(piece)] == lines
    assert buffer.flush() == rest


@pytest.mark.row("UI-24")
def test_what_comes_together_is_written_together_and_the_end_comes_last() -> None:
    paper = Paper()
    log = AttemptLog(paper.append, MOST)
    for number in range(100):
        log.write("stdout", f"{number}\n")
    log.write("stderr", "no newline")
    log.close()
    eventually(lambda: paper.ended)
    assert [text for _, text in paper.lines()] == [*map(str, range(100)), "no newline"]
    assert len(paper.batches) < 50
    assert [batch.ended for batch in paper.batches] == [False] * (len(paper.batches) - 1) + [True]


class Prompted(Paper):
    """The task prints another line with each batch that is written."""

    log: AttemptLog

    def append(self, batch: LogBatch) -> bool:
        if len(self.batches) < 5000:
            self.log.write("stdout", "more\n")
        return super().append(batch)


@pytest.mark.row("UI-24")
def test_lines_that_are_printed_while_others_are_written_wait_for_the_next_round() -> None:
    paper = Prompted()
    paper.log = AttemptLog(paper.append, MOST)
    paper.log.write("stdout", "first\n")
    eventually(lambda: len(paper.batches) > 1)
    paper.log.close()
    eventually(lambda: paper.ended)
    assert len(paper.batches) < 500  # five a second, and not as many as Redis takes


@pytest.mark.row("UI-24")
def test_a_batch_is_no_larger_than_a_log_may_be() -> None:
    paper = Paper(away=float("inf"))
    log = AttemptLog(paper.append, 20 * LARGEST)
    log.write("stdout", "first\n")
    eventually(lambda: paper.asked)
    for _ in range(6):
        log.write("stdout", "\U0001f600" * (LONGEST - 1) + "\n")
        log.write("stdout", "\U0001f600" * 2 * LONGEST + "\n")
    paper.away = 0
    log.close()
    eventually(lambda: paper.ended)
    assert [number for number, _ in paper.lines()] == [*range(1, 14)]
    assert max(len(batch.text) for batch in paper.batches) < FEWEST - 2 * 64


@pytest.mark.row("UI-24")
@pytest.mark.parametrize("log_bytes", [1, FEWEST - 1])
def test_a_bound_that_would_keep_nothing_is_refused(log_bytes: int) -> None:
    with pytest.raises(ValidationError, match=f"log_bytes\n.*a log needs {FEWEST} bytes, or 0 for no logs"):
        RunnerSettings(pool="ci/r", pod="a", uid="u", log_bytes=log_bytes)
    for allowed in (0, FEWEST):
        assert RunnerSettings(pool="ci/r", pod="a", uid="u", log_bytes=allowed).log_bytes == allowed


@pytest.mark.row("UI-24")
def test_a_task_that_prints_nothing_costs_nothing() -> None:
    paper, threads = Paper(), set(threading.enumerate())
    log = AttemptLog(paper.append, MOST)
    log.close()
    log.write("stdout", "of a thread that outlives its attempt\n")
    assert set(threading.enumerate()) <= threads
    assert paper.asked == []


@pytest.mark.row("UI-24")
def test_while_redis_is_away_the_latest_lines_are_kept_and_a_batch_is_repeated_as_it_was() -> None:
    paper = Paper(away=float("inf"))
    log = AttemptLog(paper.append, MOST)
    log.write("stdout", "first\n")
    eventually(lambda: paper.asked)
    for number in range(2, 10_001):
        log.write("stdout", f"line {number}\n")
    log.write("stdout", "\ud800\n")
    paper.away = 0
    log.close()
    eventually(lambda: paper.ended)
    assert paper.batches[0] == paper.asked[0]
    numbers = [number for number, _ in paper.lines()]
    assert numbers[0] == 1
    assert numbers[1:] == list(range(numbers[1], 10_002))
    assert 500 < len(numbers) < 1500
    assert paper.lines()[-2:] == [(10_000, "line 10000"), (10_001, "?")]
