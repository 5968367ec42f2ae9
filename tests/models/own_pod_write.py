"""The event of a claim's own write of its pod needs no run. Is a change of the pod missed because it was taken for it?

One claim, one pod, two runs. A run expects the event of its write under its token before it writes. The publisher takes
the first event with that token for it, notes its version, and wakes nobody. A run that ends compares that version with
the one that its write made; if there was no such event yet, it leaves the version to expect. Others take the label off,
which keeps the token. A run may lose its lease and write late; a stream may leave out an event that others follow.

Shows: only the current run may expect (`fenced`), the next run ends what was expected (`ended`), and what was taken for
the event must be compared when the run ends, by its version (`compares`), as must what comes later (`exact`). A flag
that is False is a rule taken away.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore


class Flags(NamedTuple):
    fenced: bool = True
    ended: bool = True
    compares: bool = True
    exact: bool = True


class Event(NamedTuple):
    version: int
    labelled: bool


class S(NamedTuple):
    """`expects`: nothing (0), any version (-1), or one version. `taken`: the version that was taken for the event."""

    at: str = "begun"  # begun | tried | written: the first run; idle: no run
    late: bool = False  # the first run has lost its lease
    version: int = 1
    labelled: bool = False
    events: tuple[Event, ...] = ()
    expects: int = 0
    taken: int = 0
    shown: bool = False
    dirty: bool = False
    leases: int = 1
    changes: int = 2
    gaps: int = 1


Edge = tuple[str, str, S]
OWN = 2
"""The version that the first run's write makes: nobody else writes the pod before it."""


def step(flags: Flags, s: S) -> Iterator[Edge]:
    yield from first_run(flags, s)
    if s.dirty and (s.at == "idle" or s.late):
        ended = s._replace(expects=0, taken=0) if flags.ended else s
        yield SYS, "another run reads the pod", ended._replace(dirty=False, shown=s.labelled)
    if s.events:
        yield SYS, "the publisher handles an event", handled(s._replace(events=s.events[1:]), s.events[0])
    if len(s.events) > 1 and s.gaps:
        yield ENV, "the stream leaves an event out", s._replace(events=s.events[1:], gaps=0)
    if s.version >= OWN and s.changes:
        yield ENV, "somebody else writes the pod", wrote(s._replace(changes=s.changes - 1), labelled=not s.labelled)


def first_run(flags: Flags, s: S) -> Iterator[Edge]:
    if s.at == "idle":
        return
    if s.leases:
        yield ENV, "its lease ends", s._replace(leases=0, late=True, dirty=True)
    if s.late:
        yield ENV, "it dies", s._replace(at="idle")
    match s.at:
        case "begun":
            may = not (s.late and flags.fenced and not s.dirty)
            yield SYS, "it tries the pod", s._replace(at="tried", expects=-1 if may else s.expects)
        case "tried":
            yield SYS, "it writes the pod", wrote(s._replace(at="written"), labelled=True)
        case "written" if s.late:
            yield SYS, "its end is refused", s._replace(at="idle")
        case "written":
            yield SYS, "it shows the pod and ends", end(flags, s)._replace(at="idle", shown=True)


def wrote(s: S, *, labelled: bool) -> S:
    version = s.version + 1
    return s._replace(version=version, labelled=labelled, events=(*s.events, Event(version, labelled)))


def handled(s: S, event: Event) -> S:
    """Every event after the write carries its token."""
    if s.expects == event.version or (s.expects == -1 and not s.taken):
        return s._replace(expects=0, taken=event.version if s.expects == -1 else 0)
    return s._replace(dirty=True)


def end(flags: Flags, s: S) -> S:
    if s.taken:
        return s._replace(taken=0, dirty=s.dirty or (flags.compares and s.taken != OWN))
    return s._replace(expects=OWN) if s.expects == -1 and flags.exact else s


def settled(s: S) -> bool:
    return s.shown == s.labelled


def check(flags: Flags) -> Result:
    return explore(S(), lambda s: step(flags, s), {}, settled)
