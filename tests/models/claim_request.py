"""Services ask for a claim by tasks, and release it by others. Does it stay for who has it, and for nobody else?

Two calls, a and b, ask for one name. Each request may be sent twice, because a call repeats it; a release comes once:
that of a call which failed, or one by the name of the claim. Workers take the messages in any order and do one step at
a time. A worker may die before any step: then its message is taken again. The claim has the ids of the calls that ask
for it, which change by compare-and-set.

Rule released: the release is recorded before the claim is deleted, and who has created the claim, or found it there,
reads that record afterwards and undoes what was released. Rule callers: who finds the claim adds its id, and the
release of a call takes its own id away and deletes the claim only if no other is left. In the end there is the claim of
the calls that were not released. A flag that is False is a step left out, or done in the other order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.models.explore import ENV, SYS, Result, explore

NAME = "name"
"""In place of a call: the release by the claim's name."""


class Flags(NamedTuple):
    recorded_first: bool = True  # the release is recorded before the claim is deleted, and not after it
    read_afterwards: bool = True  # who creates the claim reads the record after it, and not before
    read_each_time: bool = True  # also who finds the claim there
    added: bool = True  # who finds the claim adds its id
    own: bool = True  # the release of a call deletes only a claim that no other call has


class Worker(NamedTuple):
    at: str
    call: str


class S(NamedTuple):
    """`requests` and `releases`: messages by their calls; `callers`: ids at the claim, empty if there is none."""

    requests: tuple[str, ...]
    releases: tuple[str, ...]
    workers: tuple[Worker, ...] = ()
    callers: frozenset[str] = frozenset()
    records: frozenset[str] = frozenset()
    answered: frozenset[str] = frozenset()
    deaths: int = 1


Edge = tuple[str, str, S]


def step(flags: Flags, s: S) -> Iterator[Edge]:
    if len(s.workers) < 2:
        for call in sorted({*s.requests}):
            taken = s._replace(requests=without(s.requests, call))
            yield SYS, f"a worker takes a request of {call}", joined(taken, Worker("asked", call))
        for call in s.releases:
            taken = s._replace(releases=without(s.releases, call))
            yield SYS, f"a worker takes the release of {call}", joined(taken, Worker("releasing", call))
    for worker in sorted({*s.workers}):
        left = s._replace(workers=without(s.workers, worker))
        if s.deaths:
            yield ENV, f"a worker dies, {worker.at}", sent_again(left._replace(deaths=s.deaths - 1), worker)
        yield acts(flags, left, worker)


def sent_again(s: S, worker: Worker) -> S:
    if worker.at in ("releasing", "released"):
        return s._replace(releases=(*s.releases, worker.call))
    return s._replace(requests=tuple(sorted((*s.requests, worker.call))))


def acts(flags: Flags, s: S, worker: Worker) -> Edge:
    at, call = worker
    released = bool(s.records & {call, NAME})
    then = ""
    match at:
        case "asked" if not flags.read_afterwards:
            words, then = f"the request of {call} reads the record", "" if released else "creating"
        case "asked" if s.callers and not flags.read_each_time:
            words, s = f"the request of {call} finds the claim there", added(flags, s, call)
        case "asked":
            words, s, then = f"the claim is created or there for {call}", added(flags, s, call), "created"
        case "creating":
            words, s = f"the claim is created for {call}", answer(added(flags, s, call), call)
        case "created":
            words, then = f"the request of {call} reads the record", "unwanted" if released else ""
            s = s if released else answer(s, call)
        case "unwanted":
            by = NAME if NAME in s.records else call
            words, s = f"the request of {call} undoes what was released", undone(flags, s, by)
        case _ if flags.recorded_first == (at == "releasing"):
            words, s = f"the release of {call} is recorded", s._replace(records=s.records | {call})
        case _:
            words, s = f"the release of {call} is carried out", undone(flags, s, call)
    then = "released" if at == "releasing" else then
    return SYS, words, joined(s, Worker(then, call)) if then else s


def added(flags: Flags, s: S, call: str) -> S:
    return s._replace(callers=s.callers | {call}) if flags.added or not s.callers else s


def answer(s: S, call: str) -> S:
    return s._replace(answered=s.answered | {call})


def undone(flags: Flags, s: S, by: str) -> S:
    if by == NAME or not flags.own:
        return s._replace(callers=frozenset())
    return s._replace(callers=s.callers - {by})


def joined(s: S, worker: Worker) -> S:
    return s._replace(workers=tuple(sorted((*s.workers, worker))))


def without(items: tuple[Any, ...], item: str | Worker) -> tuple[Any, ...]:
    others = list(items)
    others.remove(item)
    return tuple(others)


def check(flags: Flags, releases: tuple[str, ...] = (NAME,)) -> Result:
    """Explore what happens if these calls are released."""
    kept = frozenset() if NAME in releases else frozenset({"a", "b"}).difference(releases)
    rules = {"kept": lambda s: s.callers >= kept & s.answered}
    return explore(S(("a", "a", "b"), releases), lambda s: step(flags, s), rules, lambda s: s.callers == kept)
