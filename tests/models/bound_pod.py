"""A run that has bound a pod believes the answer to its write. Is a change of the pod after that write ever missed?

One claim, one pod, a publisher that handles the pod's events in their order. An event wakes the claim if the pod has
the claim's label, or if the index says that the claim has to do with the pod. Others take the label off once, at any
time after the write. A woken run puts the pod into the index and reads it.

Shows: nothing is missed if the index has the pod before the write. Else the run must read the pod after it has put it
there, or rely on the event of its own write, which wakes it once more (`echo`; one that wakes nobody spares a run a
claim). A flag that is False is a rule taken away.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore


class Flags(NamedTuple):
    indexes: bool = True  # the index has the pod before it is written
    reads: bool = False  # after its write the run reads the pod again
    echo: bool = False  # the event of that write wakes the claim


class S(NamedTuple):
    at: str = "begun"  # begun | tried | written | indexed | seen: the run; idle
    first: bool = True  # the run that writes the pod; later ones only read
    indexed: bool = False
    labelled: bool = False
    events: tuple[bool, ...] = ()  # whether the pod had the label; not handled yet
    believed: bool = False
    shown: bool = False
    dirty: bool = False
    changes: int = 1


Edge = tuple[str, str, S]


def step(flags: Flags, s: S) -> Iterator[Edge]:
    yield from runs(flags, s)
    if s.events:
        woken = s.dirty or (flags.echo if s.events[0] else s.indexed)
        yield SYS, "the publisher handles an event", s._replace(events=s.events[1:], dirty=woken)
    if s.labelled and s.changes:
        gone = s._replace(labelled=False, events=(*s.events, False), changes=s.changes - 1)
        yield ENV, "somebody takes the label off", gone


def runs(flags: Flags, s: S) -> Iterator[Edge]:
    match s.at:
        case "begun" if s.first:
            yield SYS, "it tries the pod", s._replace(at="tried", indexed=s.indexed or flags.indexes)
        case "tried":
            written = s._replace(at="written", labelled=True, events=(*s.events, True), believed=True)
            yield SYS, "it writes the pod", written
        case "begun" | "written":
            yield SYS, "the index has the pod", s._replace(at="indexed", indexed=True)
        case "indexed":
            reads = not s.first or flags.reads
            yield SYS, "it observes", s._replace(at="seen", believed=s.labelled if reads else s.believed)
        case "seen":
            yield SYS, "it shows that", s._replace(at="idle", first=False, shown=s.believed)
        case "idle" if s.dirty:
            yield SYS, "another run begins", s._replace(at="begun", dirty=False)


def settled(s: S) -> bool:
    return s.shown == s.labelled


def check(flags: Flags) -> Result:
    return explore(S(), lambda s: step(flags, s), {}, settled)
