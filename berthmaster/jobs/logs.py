"""The logs of jobs, to read: what the tasks of their attempts have printed and logged (see berthmaster.runner.log).

Lines are numbered, so that a reader sees which are missing: those that the log no longer keeps, and those that the
runner could not write because Redis was away.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Self

import orjson

from berthmaster.jobs.job import ATTEMPT, JobRecord, JobState
from berthmaster.jobs.unreadable import listed, readable, typed
from berthmaster.redis.outage import OUTAGE

if TYPE_CHECKING:
    from berthmaster.jobs.slot_ledger import SlotLedger

IDLE: Final = 1000
"""Milliseconds without a new line after which a follower asks whether the attempt has ended."""
PAUSE: Final = 0.5
PATIENCE: Final = 60.0
"""Seconds for which Redis may be away while somebody follows a log."""
ENTRIES: Final = 64
"""Entries that are read at once; each has at most 16 KiB of text."""
LINES: Final = 2000
"""Most lines of a page: an entry may have thousands of short ones."""
RUNS: Final = (JobState.PLACED, JobState.RUNNING, JobState.CANCELLING, JobState.UNKNOWN)
STARTS: Final = (JobState.WAITING, JobState.PLACED, JobState.CONFIRMED, JobState.UNKNOWN)
POSITION: Final = re.compile(r"([0-9]{1,20})-([0-9]{1,20}):([0-9]{1,15})")
MOST_LINES: Final = 10**15
"""Beyond any log: a greater number of a line is none."""
GREATEST: Final = 2**64 - 1
"""Of both numbers of the id of an entry, in Redis."""


class NoSuchLog(LookupError):  # noqa: N818 - says what is, as KeyError does not
    """The pod pool does not know the job, or the job had no such attempt."""


@dataclass(frozen=True)
class LogLine:
    """A line, without its newline. It may hold any other character: make it visible before you print it.

    `number` counts the lines of the attempt from 1. `missing`: how many lines directly before it are not in the log.
    `at`: when Redis got it, UTC.
    """

    attempt: str
    number: int
    at: datetime
    text: str
    missing: int = 0


@dataclass(frozen=True)
class LoggedAttempt:
    """An attempt that has printed something, and its phase."""

    attempt: str
    phase: str


@dataclass(frozen=True)
class LogPosition:
    """What a reader has read: the id of the last entry in Redis that it has all of, and the number of the last line."""

    entry: str = "0-0"
    number: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the position of such a text. Raises ValueError."""
        match = POSITION.fullmatch(text)
        if not match or max(int(match[1]), int(match[2])) > GREATEST:
            raise ValueError(f"{text[:50]!r} is no position in a log")
        return cls(f"{match[1]}-{match[2]}", int(match[3]))

    def __str__(self) -> str:
        return f"{self.entry}:{self.number}"


@dataclass(frozen=True)
class LogEntry:
    """An entry in Redis: lines that were written together, from number `first` on, up to `last`.

    An `ended` one is the last of its attempt, and may have no lines.
    """

    at: datetime
    first: int
    last: int
    texts: tuple[str, ...]
    ended: bool

    @classmethod
    def of(cls, entry: str, stored: dict[bytes, bytes]) -> Self | None:
        """Return what is stored with this id, None if it is none of ours."""
        try:
            first, last = line_number(stored[b"first"]), line_number(stored[b"last"])
            at = datetime.fromtimestamp(int(entry.partition("-")[0]) / 1000, UTC)
            texts = stored[b"text"].decode(errors="replace").split("\n") if last >= first else ()
            return cls(at, first, last, tuple(texts), stored[b"ended"] != b"")
        except (ArithmeticError, LookupError, OSError, ValueError):
            return None

    def lines(self, attempt: str, read: int) -> list[LogLine]:
        """Return its lines with numbers above `read`, the number of the last line before."""
        begin = max(self.first, read + 1)
        texts = enumerate(self.texts[begin - self.first :], begin)
        return [LogLine(attempt, n, self.at, text, begin - read - 1 if n == begin else 0) for n, text in texts]


@dataclass(frozen=True)
class LogPage:
    """Some lines and the position after them.

    `more`: there are more already. `ended`: the runner has said that no more will come.
    """

    lines: tuple[LogLine, ...]
    after: LogPosition
    more: bool = False
    ended: bool = False


def line_number(stored: bytes) -> int:
    """Return the number of a line as an entry has it; 0 is before the first one. Raises ValueError."""
    number = int(stored)
    if not 0 <= number < MOST_LINES:
        raise ValueError(f"{number} is no number of a line")
    return number


class JobLogs:
    """The logs of the jobs of one pod pool."""

    def __init__(self, ledger: SlotLedger) -> None:
        self._ledger = ledger

    @readable()
    def attempts(self, job: str) -> tuple[LoggedAttempt, ...]:
        """Return the attempts of a job that have a log, the oldest first. Raises UnreadableLedger."""
        stored: Any = self._ledger.redis.hget(f"{self._ledger.prefix}logs", job)
        logs = [typed(log, dict) for log in listed(orjson.loads(stored))] if stored else []
        return tuple(LoggedAttempt(typed(log["attempt"], str), typed(log["phase"], str)) for log in logs)

    def latest(self, record: JobRecord) -> str:
        """Return the present attempt if it has a log, else the one that began its log last.

        That may be a lost one. Without any log it is the present attempt, '' if there was none.
        """
        logged = [log.attempt for log in self.attempts(record.id)]
        return record.attempt if record.attempt in logged or not logged else logged[-1]

    def page(self, attempt: str, after: LogPosition, wait: int | None = None) -> LogPage:
        """Return the lines after a position. `wait`: for how many ms to wait for the first one, None not at all."""
        key = f"{self._ledger.prefix}log:{attempt}"
        reply: Any = self._ledger.redis.xread({key: after.entry}, count=ENTRIES, block=wait)
        entries = reply[0][1] if reply else ()
        lines, ended = list[LogLine](), False
        for place, stored in entries:
            before, after = after, LogPosition(place.decode(), after.number)
            entry = LogEntry.of(after.entry, stored)
            if entry is None:
                continue
            unread, room = entry.lines(attempt, after.number), LINES - len(lines)
            lines += unread[:room]
            if len(unread) > room:
                return LogPage(tuple(lines), LogPosition(before.entry, lines[-1].number), more=True)
            after, ended = LogPosition(after.entry, max(entry.last, after.number)), ended or entry.ended
        return LogPage(tuple(lines), after, len(entries) == ENTRIES, ended)

    def lines(self, job: str, attempt: str | None = None, *, follow: bool = False) -> Iterator[LogLine]:
        """Yield the lines of an attempt, of the latest one if it is None. `follow`: until the attempt has ended.

        A follower without `attempt` waits for a job that has not started yet. Raises NoSuchLog at once.
        """
        record = self._record(job)
        if attempt is not None:
            self._check(record, attempt)
        if follow:
            return self._follow(job, attempt)
        return self._rest(attempt or self.latest(record), LogPosition())

    def _record(self, job: str) -> JobRecord:
        record = self._ledger.record(job)
        if record is None:
            pool = self._ledger.pool
            raise NoSuchLog(f"pod pool {pool} knows no job {job}: it was never submitted, or ended long ago")
        return record

    def _check(self, record: JobRecord, attempt: str) -> None:
        logged = self.attempts(record.id)
        if not ATTEMPT.fullmatch(attempt) or attempt not in (record.attempt, record.plan, *(a.attempt for a in logged)):
            there = ", ".join(f"{a.attempt} ({a.phase})" for a in logged) or "none"
            raise NoSuchLog(f"job {record.id} has no attempt {attempt}, or its log is gone. With a log: {there}")

    def _rest(self, attempt: str, after: LogPosition) -> Iterator[LogLine]:
        while attempt and (page := self.page(attempt, after)).after != after:
            yield from page.lines
            after = page.after

    def _follow(self, job: str, attempt: str | None) -> Iterator[LogLine]:
        attempt = attempt or self._started(job)
        after, until = LogPosition(), time.monotonic() + PATIENCE
        while attempt:
            try:
                page = self.page(attempt, after, IDLE)
                over = page.after == after and self.is_over(self._record(job), attempt)
            except OUTAGE:
                if time.monotonic() > until:
                    raise
                time.sleep(PAUSE)
                continue
            yield from page.lines
            after, until = page.after, time.monotonic() + PATIENCE
            if page.ended:
                return
            if over:  # rule `lastread`: lines may have come before the end
                yield from self._rest(attempt, after)
                return

    def _started(self, job: str) -> str:
        """Wait until an attempt has started, and return it; '' for a job that has ended without one."""
        until = time.monotonic() + PATIENCE
        while True:
            with suppress(*(OUTAGE if time.monotonic() < until else ())):
                record, until = self._record(job), time.monotonic() + PATIENCE
                if record.state not in STARTS:
                    return record.attempt
            time.sleep(PAUSE)

    @staticmethod
    def is_over(record: JobRecord, attempt: str) -> bool:
        """Return whether an attempt of the job has ended, or its runner is taken for lost."""
        return record.attempt != attempt or record.state not in RUNS
