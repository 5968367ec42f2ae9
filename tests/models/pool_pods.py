"""What a worker knows of a pool's pod by one list and the changes since, with nothing else that makes it list again.

One pod that changes and may be deleted; a publisher that follows it, and may be replaced by one that lists first; a
stream of entries (id, version, alive) that may lose its oldest. A run reads the changes after its position, or lists:
first it takes a position, then it lists. An older publisher may append what it read long ago.

Ends settled: what the worker knows is the pod as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore

RULES = frozenset({"beginfirst", "contiguous", "countlist", "newestpod"})
Entry = tuple[int, int, bool]
MARKER = 0
"""The version of an entry that only is a position."""


class S(NamedTuple):
    """`told`: the newest version that the publisher has appended. `position`, `seen`: entry and lists of the reader."""

    version: int = 1
    alive: bool = True
    told: int = 1
    stream: tuple[Entry, ...] = ()
    last: int = 0
    lists: int = 0
    dirty: bool = True
    begun: tuple[int, int] | None = None
    known: tuple[int, bool] | None = None
    position: int = 0
    seen: int = 0
    changes: int = 2
    replaced: int = 1
    trims: int = 2
    late: int = 1


def appended(s: S, version: int, *, alive: bool = True) -> S:
    return s._replace(stream=(*s.stream, (s.last + 1, version, alive)), last=s.last + 1)


def run(s: S, rules: frozenset[str]) -> S:
    """Read the changes, or begin a list."""
    missed = "contiguous" in rules and all(entry != s.position for entry, *_ in s.stream)
    relisted = "countlist" in rules and s.seen != s.lists
    if s.known is None or missed or relisted:
        if "beginfirst" not in rules:
            return s._replace(known=(s.version, s.alive), begun=(-1, s.lists), dirty=False)
        s = appended(s, MARKER)
        return s._replace(begun=(s.last, s.lists), dirty=False)
    known = s.known
    for entry, version, alive in s.stream:
        if entry > s.position and version != MARKER and ("newestpod" not in rules or version >= known[0]):
            known = version, alive
    return s._replace(known=known, position=s.stream[-1][0] if s.stream else s.position, dirty=False)


def listed(s: S) -> S:
    """End a list: the pod as it is now, or, without rule beginfirst, a position after the list."""
    assert s.begun is not None
    position, seen = s.begun
    if position < 0:
        s = appended(s, MARKER)
        return s._replace(position=s.last, seen=seen, begun=None)
    return s._replace(known=(s.version, s.alive), position=position, seen=seen, begun=None)


def steps(rules: frozenset[str], s: S) -> Iterator[tuple[str, str, S]]:
    if s.changes and s.alive:
        yield ENV, "changes", s._replace(version=s.version + 1, changes=s.changes - 1)
        yield ENV, "deleted", s._replace(version=s.version + 1, alive=False, changes=0)
    if s.replaced:
        yield ENV, "replaced", s._replace(told=s.version, lists=s.lists + 1, dirty=True, replaced=0)
    if s.trims and s.stream:
        yield ENV, "trimmed", s._replace(stream=s.stream[1:], trims=s.trims - 1)
    if s.late and s.told > 1:
        yield ENV, "late", appended(s, s.told - 1)._replace(late=0, dirty=True)
    if s.told < s.version:
        alive = s.alive or s.told + 1 < s.version
        yield SYS, "told", appended(s, s.told + 1, alive=alive)._replace(told=s.told + 1, dirty=True)
    if s.begun:
        yield SYS, "listed", listed(s)
    elif s.dirty:
        yield SYS, "run", run(s, rules)


def settled(s: S) -> bool:
    return not s.dirty and s.known == (s.version, s.alive)


def check(rules: frozenset[str] = RULES) -> Result:
    return explore(S(), partial(steps, rules), {}, settled)
