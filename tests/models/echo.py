"""A worker's own annotation comes back as an event: when is that a loop that needs no time?

One pod, one worker whose runs are atomic. Any event ends a wait, so that a run that writes something new each time, as
a number of tries, wakes itself for ever. A text that depends on the state alone ends after one idle run: Kubernetes
makes no event of a write that changes nothing. Timers are ENV here.

Shows: no such loop, and in the end the pod waits or its annotation says what it asks for. That the publisher leaves out
events of known writes (`leaves_out`) saves that run, and nobody from the loop. A flag that is False is a rule taken
away.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore


class Flags(NamedTuple):
    edits: int = 2  # by users: another spec, or the annotation removed
    timers: int = 2
    of_state: bool = True  # what the annotation says depends on the state; False: on the number of tries
    all_events: bool = True  # all events mark the key; False: changes of the spec alone
    leaves_out: bool = False  # ... but known events of own writes


class S(NamedTuple):
    edits: int
    timers: int
    spec: int = 0
    works: bool = False  # a port is free
    annotation: tuple[str, int] | None = None
    tries: int = 0
    place: str = "queued"  # idle | queued | waits
    events: tuple[str, ...] = ()  # on their way: spec | annotation | known


Edge = tuple[str, str, S]


def step(flags: Flags, s: S) -> Iterator[Edge]:
    if s.edits:
        less = s._replace(edits=s.edits - 1)
        yield ENV, "a user changes the spec", less._replace(spec=s.spec + 1, events=(*s.events, "spec"))
        if s.annotation:
            removed = less._replace(annotation=None, events=(*s.events, "annotation"))
            yield ENV, "a user removes the annotation", removed
    if not s.works:
        yield ENV, "a port becomes free", s._replace(works=True)
    if s.timers and s.place == "waits":
        yield ENV, "the wait is over", s._replace(timers=s.timers - 1, place="queued")
    if s.events:
        first, rest = s.events[0], s._replace(events=s.events[1:])
        marks = first == "spec" or (flags.all_events and not (first == "known" and flags.leaves_out))
        yield SYS, f"the event of {first} arrives", rest._replace(place="queued") if marks else rest
    if s.place == "queued":
        for event in ("annotation", "known") if flags.leaves_out else ("annotation",):
            yield SYS, *run(flags, s, event)


def run(flags: Flags, s: S, event: str) -> tuple[str, S]:
    """`known`: the write was answered before its event came. Tries are counted in a circle."""
    tries = 0 if s.works or flags.of_state else s.tries % 3 + 1
    annotation = ("bound", s.spec) if s.works else ("waits", tries)
    after = s._replace(place="idle" if s.works else "waits", tries=tries)
    if s.annotation == annotation:
        return "a run writes nothing", after
    return f"a run writes {annotation}", after._replace(annotation=annotation, events=(*s.events, event))


def settled(s: S) -> bool:
    return s.place == "waits" or s.annotation == ("bound", s.spec)


def check(flags: Flags) -> Result:
    return explore(S(flags.edits, flags.timers), partial(step, flags), {}, settled)
