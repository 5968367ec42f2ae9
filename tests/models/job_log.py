"""A follower of a log yields each line that was appended once, and ends when the attempt has ended.

The runner appends one batch after the other, with the numbers of its lines, and then reports the end of its attempt. An
append or its answer may be lost; then the runner appends the batch again. A script appends a batch only if its numbers
are new (`numbered`) and only while the job has a record (`of_record`). The follower reads lines until there are none,
asks for the state of the job, and reads once more (`last_read`) before it ends. The sweep forgets an ended job with its
log. An attempt that is lost ends without its runner, which may write on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore


class Flags(NamedTuple):
    batches: int = 2
    losses: int = 1
    numbered: bool = True
    last_read: bool = True
    of_record: bool = True


class S(NamedTuple):
    log: tuple[int, ...] | None = ()  # batches; None: there is none
    record: str = "running"  # of the job; then ended, then forgotten
    batch: int = 1  # that the runner appends next
    reported: bool = False  # the runner has said the end, or knows that its attempt is lost
    lost: bool = False  # the ledger has ended the attempt by itself
    losses: int = 0  # of answers so far
    follower: str = "reads"  # last read, ends
    shown: tuple[int, ...] = ()


def appended(s: S, f: Flags) -> tuple[int, ...] | None:
    if f.of_record and s.record == "forgotten":
        return s.log
    log = s.log or ()
    return log if f.numbered and s.batch in log else (*log, s.batch)


def runner(s: S, f: Flags) -> Iterator[tuple[str, str, S]]:
    if s.reported:
        return
    if s.batch <= f.batches:
        yield SYS, "the runner appends", s._replace(log=appended(s, f), batch=s.batch + 1)
        if s.losses < f.losses:
            yield ENV, "FAULT the answer to an append is lost", s._replace(log=appended(s, f), losses=s.losses + 1)
    else:
        record = "ended" if s.record == "running" else s.record
        yield SYS, "the runner reports the end", s._replace(record=record, reported=True)


def follower(s: S, f: Flags) -> Iterator[tuple[str, str, S]]:
    if s.follower == "ends":
        return
    unread = (s.log or ())[len(s.shown) :]
    if unread:
        yield SYS, "the follower reads", s._replace(shown=(*s.shown, *unread), follower="reads")
    elif s.follower == "last read":
        yield SYS, "the follower ends", s._replace(follower="ends")
    if s.follower == "reads" and s.record != "running":  # it has found no line, and more have come since
        yield SYS, "the follower learns of the end", s._replace(follower="last read" if f.last_read else "ends")


def step(s: S, f: Flags) -> Iterator[tuple[str, str, S]]:
    yield from runner(s, f)
    yield from follower(s, f)
    if s.record == "running":
        yield ENV, "FAULT the attempt is lost", s._replace(record="ended", lost=True)
    if s.record == "ended" and s.follower == "ends":  # a day later
        yield SYS, "the sweep forgets the job", s._replace(record="forgotten", log=None)


def check(f: Flags) -> Result:
    every = tuple(range(1, f.batches + 1))
    rules = {
        "a line twice": lambda s: len(set(s.shown)) == len(s.shown),
        "a line is missing": lambda s: s.follower != "ends" or s.lost or s.shown == every,
        "a log of no job": lambda s: s.record != "forgotten" or s.log is None,
    }
    return explore(S(), lambda s: step(s, f), rules, lambda s: s.follower == "ends" and s.record == "forgotten")
