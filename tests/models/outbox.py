"""An event of a wait is written at least once, and never for a wait that did not begin.

The script that lets a pod or job wait also appends an entry to the outbox of its ledger (`recorded`). The worker that
called it, or any sweep, appends the event to the stream, then deletes the entry (`append_first`). A worker may die
before each step. What waits may get what it asked for at any time, and wait again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore


class Flags(NamedTuple):
    waits: int = 2
    kills: int = 2
    recorded: bool = True
    append_first: bool = True


class S(NamedTuple):
    begun: int = 0  # waits so far: 1, 2, ...
    waiting: bool = False
    outbox: frozenset[int] = frozenset()
    stream: frozenset[int] = frozenset()
    workers: tuple[tuple[str, int], ...] = (("idle", 0), ("idle", 0))  # what it does, about which wait
    kills: int = 0


def put(s: S, at: int, worker: tuple[str, int]) -> S:
    return s._replace(workers=tuple(worker if n == at else other for n, other in enumerate(s.workers)))


def step(s: S, f: Flags) -> Iterator[tuple[str, str, S]]:
    if s.waiting:
        yield ENV, "it gets what it waits for", s._replace(waiting=False)
    for at, (what, wait) in enumerate(s.workers):
        name = "AB"[at]
        for label, then in work(s, at, what, wait, f):
            yield ENV if label == "finds nothing free" else SYS, f"{name} {label}", then
        if what != "idle" and s.kills < f.kills:
            yield ENV, f"FAULT {name} is killed", put(s._replace(kills=s.kills + 1), at, ("idle", 0))


def work(s: S, at: int, what: str, wait: int, f: Flags) -> Iterator[tuple[str, S]]:
    if what == "idle":
        if not s.waiting and s.begun < f.waits:
            new = s.begun + 1
            outbox = s.outbox | {new} if f.recorded else s.outbox
            yield "finds nothing free", put(s._replace(begun=new, waiting=True, outbox=outbox), at, ("first", new))
        for left in sorted(s.outbox):
            yield f"sweeps wait {left}", put(s, at, ("first", left))
        return
    append = s._replace(stream=s.stream | {wait})
    delete = s._replace(outbox=s.outbox - {wait})
    first, second = (append, delete) if f.append_first else (delete, append)
    if what == "first":
        yield "appends" if f.append_first else "deletes", put(first, at, ("second", wait))
    else:
        yield "deletes" if f.append_first else "appends", put(second, at, ("idle", 0))


def check(f: Flags) -> Result:
    def settled(s: S) -> bool:
        return s.stream == frozenset(range(1, s.begun + 1)) and not s.outbox

    rules = {"an event of no wait": lambda s: max(s.stream, default=0) <= s.begun}
    return explore(S(), lambda s: step(s, f), rules, settled)
