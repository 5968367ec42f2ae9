"""Which ready key is served next: one key in two classes, and the turns of the classes.

`check` explores one key that may be ready in its own class (an event) or in the slow one (an audit): where it is, and
whether its event waits behind the audit's keys. `worst` searches all histories of the other classes for the most keys
that are served before a watched one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Literal, NamedTuple

from berthmaster.kinds import CYCLE, ReadyClass
from tests.models.explore import ENV, SYS, Result, explore

TWICE = "it is held twice"
BEHIND = "an event waits behind the audit's keys"


class Flags(NamedTuple):
    promote: bool = True  # an event moves a slow key
    demote: bool = False  # an audit moves it back
    both: bool = False  # an event adds the key to its class, and leaves it in the slow one
    marks: int = 3
    backlog: int = 3  # slow keys before it


class S(NamedTuple):
    marks: int
    own: bool = False
    slow: int = -1  # slow keys before ours, -1: it is not there
    held: int = 0
    dirty: bool = False
    urgent: bool = False  # an event was marked and not taken


def step(s: S, f: Flags) -> Iterator[tuple[str, str, S]]:
    if s.marks:
        yield from marked(s._replace(marks=s.marks - 1, dirty=True), f)
    if s.own:
        yield SYS, "it is served", s._replace(own=False, held=s.held + 1, dirty=False, urgent=False)
    if s.slow == 0:
        yield SYS, "it is served as a slow key", s._replace(slow=-1, held=s.held + 1, dirty=False, urgent=False)
    elif s.slow > 0:
        yield SYS, "another slow key is served", s._replace(slow=s.slow - 1)
    if s.held:
        again = s.dirty and s.held == 1
        yield SYS, "its run ends", s._replace(held=s.held - 1, own=s.own or again)


def marked(s: S, f: Flags) -> Iterator[tuple[str, str, S]]:
    event = s._replace(urgent=True)
    if s.held:
        yield ENV, "an event during its run", event
        yield ENV, "an audit during its run", s
        return
    if s.slow >= 0 and not s.own:
        moved = event._replace(own=True, slow=s.slow if f.both else -1)
        yield ENV, "an event of a slow key", moved if f.promote or f.both else event
    else:
        yield ENV, "an event", event._replace(own=True)
    if s.slow < 0 and not s.own:
        yield ENV, "an audit touches it", s._replace(slow=f.backlog)
    elif s.own and f.demote:
        yield ENV, "an audit moves it", s._replace(own=False, slow=f.backlog)


def check(flags: Flags) -> Result:
    rules = {
        TWICE: lambda s: s.held <= 1,
        BEHIND: lambda s: not s.urgent or s.own or s.held > 0,
    }
    return explore(S(flags.marks), lambda s: step(s, flags), rules, lambda s: s == S(s.marks))


# ---- turns

STARVES = 10**9


def chosen(turn: int, ready: set[ReadyClass], rule: Literal["turns", "priority"]) -> ReadyClass:
    """The class that is served: that of the turn if it has a key, or the first in the order of priority."""
    mine = CYCLE[turn]
    return mine if rule == "turns" and mine in ready else next(of for of in ReadyClass if of in ready)


def worst(watched: ReadyClass, before: int = 0, rule: Literal["turns", "priority"] = "turns") -> int:
    """Keys that are served, at most, until the one is that has `before` keys of its class before it."""
    others = [of for of in ReadyClass if of is not watched]
    known: dict[tuple[int, int], int] = {}
    path: set[tuple[int, int]] = set()

    def most(turn: int, left: int) -> int:
        at = (turn, left)
        if at in path:
            return STARVES
        if at not in known:
            path.add(at)
            known[at] = max(served(turn, left, flood) for flood in product((False, True), repeat=len(others)))
            path.discard(at)
        return known[at]

    def served(turn: int, left: int, flood: tuple[bool, ...]) -> int:
        ready = {watched} | {of for of, there in zip(others, flood, strict=True) if there}
        mine = chosen(turn, ready, rule) is watched
        return 1 if mine and not left else min(STARVES, 1 + most((turn + 1) % len(CYCLE), left - mine))

    return max(most(turn, before) for turn in range(len(CYCLE)))
