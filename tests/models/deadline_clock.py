"""One deadline of a pod pool (a reservation, or the limit of a job), and a server whose TIME is set back or forward.

Sweeps come every `GAP` at the latest. A sweep that finds TIME before the latest one that was noted lets no deadline be
further away than its length; one that finds TIME more than `PAUSE` after the last sweep moves each deadline by as much.
Who stores a deadline far ahead notes TIME (`ahead`), and who stores one far behind takes TIME for that of the last
sweep (`behind`): else a clock that is set twice between two sweeps leaves a time that no sweep knows to be wrong.

Shows: nobody's time is over before its length has passed; and after a sweep no deadline is further away than its length
and what sweeps have moved it by. A flag that is False is a part of rule `clock` taken away.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore

CUT, LONGER = "nobody's time is cut", "no deadline is further away than its length"
GAP, PAUSE, JUMP, LENGTH = 1, 2, 6, 8


class Flags(NamedTuple):
    ahead: bool = True  # who stores a deadline notes TIME, if that is far ahead of the last note
    behind: bool = True  # who stores a deadline lowers the time of the last sweep, if TIME is far behind it
    jumps: int = 3


class S(NamedTuple):
    clock: int = 0  # TIME
    swept: int = 0  # of the last sweep, or lower
    noted: int = 0  # of the last sweep, or higher
    since_sweep: int = 0  # true time since it
    runs: bool = False
    passed: int = 0  # true time since the deadline was stored
    due: int = 0
    jumps: int = 0
    extended: int = 0  # by how much sweeps have moved it
    cut: bool = False
    longer: bool = False


def step(s: S, f: Flags) -> Iterator[tuple[str, str, S]]:
    if s.since_sweep < GAP and s.passed <= LENGTH:
        passed = s.passed + s.runs
        yield ENV, "time passes", s._replace(clock=s.clock + 1, since_sweep=s.since_sweep + 1, passed=passed)
    if not s.runs:
        noted = s.clock if f.ahead and s.clock > s.noted + GAP else s.noted
        swept = s.clock if f.behind and s.clock < s.swept - GAP else s.swept
        yield ENV, "a time begins", s._replace(runs=True, due=s.clock + LENGTH, noted=noted, swept=swept)
    for jump in (-JUMP, JUMP) if s.jumps < f.jumps else ():
        yield ENV, f"TIME is set by {jump}", s._replace(clock=s.clock + jump, jumps=s.jumps + 1)
    if s.since_sweep:
        yield SYS, "sweep", normal(sweep(s))


def sweep(s: S) -> S:
    due = min(s.due, s.clock + LENGTH) if s.clock < s.noted else s.due
    more = s.clock - s.swept if s.clock - s.swept > PAUSE else 0
    s = s._replace(swept=s.clock, noted=s.clock, since_sweep=0, due=due + more, extended=s.extended + more)
    if not s.runs or s.due > s.clock:
        return s._replace(longer=s.runs and s.due - s.clock > LENGTH + s.extended)
    return s._replace(runs=False, passed=0, due=0, extended=0, cut=s.passed < LENGTH)


def normal(s: S) -> S:
    """Only differences of times matter."""
    due, extended = (s.due - s.clock, s.extended) if s.runs else (0, 0)
    return s._replace(clock=0, swept=s.swept - s.clock, noted=s.noted - s.clock, due=due, extended=extended)


def check(flags: Flags) -> Result:
    rules = {CUT: lambda s: not s.cut, LONGER: lambda s: not s.longer}
    return explore(S(), lambda s: step(s, flags), rules, lambda _: True)
