"""One key of the queue, and a server whose TIME is set back or forward: how long a wait or a lease can last.

Sweeps come every `GAP` at the latest. The clock is set at any moment, between two sweeps or right after one. Rule
`clock` of the queue: a sweep that finds a TIME before the latest one that was noted takes the difference off every time
that is stored. Without it a wait lasts for as long as the clock went back. Taking whatever is further away than the
longest length of all for due instead (`longest`) keeps the bound of the longest length only. Each sweep notes its TIME,
and so does who stores a time further ahead than sweeps are apart (`notes`): else a clock that is set forward and back
between two sweeps leaves a time that no sweep knows to be too late.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore

GAP = 1
JUMP = 6
LENGTHS = (1, 8)


class Flags(NamedTuple):
    shifts: bool = True  # a sweep takes off by how much TIME went back
    notes: bool = True  # who stores a time notes TIME, if that is far ahead of the last note
    longest: bool = False  # a sweep takes for due what is further away than the longest length
    jumps: int = 2
    forward: bool = True


class S(NamedTuple):
    clock: int = 0  # TIME, from an arbitrary moment on
    noted: int = 0  # the latest TIME that was noted since the last sweep that took something off
    since_sweep: int = 0  # true time since it
    length: int = 0  # of the wait; 0: none
    waited: int = 0  # true time
    due: int = 0  # as stored
    jumps: int = 0
    within: int = 0  # jumps since the wait began


def step(s: S, f: Flags) -> Iterator[tuple[str, str, S]]:
    if s.since_sweep < GAP and s.waited <= 2 * (JUMP + max(LENGTHS)):
        waited = s.waited + 1 if s.length else 0
        yield ENV, "time passes", s._replace(clock=s.clock + 1, since_sweep=s.since_sweep + 1, waited=waited)
    for length in LENGTHS if not s.length else ():
        noted = s.clock if f.notes and s.clock > s.noted + GAP else s.noted
        yield ENV, f"a wait of {length}", s._replace(length=length, due=s.clock + length, noted=noted)
    for jump in (-JUMP, JUMP) if f.forward else (-JUMP,):
        if s.jumps < f.jumps:
            moved = s._replace(clock=s.clock + jump, jumps=s.jumps + 1, within=s.within + (s.length > 0))
            yield ENV, f"TIME is set by {jump}", moved
    if s.since_sweep:
        yield SYS, "sweep", normal(swept(s, f))


def swept(s: S, f: Flags) -> S:
    back = s.noted - s.clock
    due = s.due - back if f.shifts and back > 0 else s.due
    over = due <= s.clock or (f.longest and due > s.clock + max(LENGTHS))
    s = s._replace(noted=s.clock, since_sweep=0, due=due)
    return s._replace(length=0, waited=0, due=0, within=0) if s.length and over else s


def normal(s: S) -> S:
    """Only differences of times matter."""
    return s._replace(clock=0, noted=s.noted - s.clock, due=s.due - s.clock if s.length else 0)


def in_time(s: S) -> bool:
    """No wait lasts longer than its length, a gap between sweeps, and two more for each time that the clock was set."""
    return not s.length or s.waited <= s.length + GAP + 2 * GAP * s.within


def check(flags: Flags) -> Result:
    return explore(S(), lambda s: step(s, flags), {"no wait is longer than its length": in_time}, lambda _: True)
