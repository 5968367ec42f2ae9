"""Pods, ledger, listeners and runs of the models of the port ledger, and how they are changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

SWEEP, REBUILD = -1, -2  # names of runs that are for no pod; 0 and 1 are pods a and b
NAMES = {SWEEP: "the sweep", REBUILD: "the rebuild", 0: "a", 1: "b"}


class Pod(NamedTuple):
    uid: int = 0  # 1, 2, 3 are incarnations of a; 11 is b; 0 = gone
    wants: bool = False
    shown: int = -1  # the port that its annotation publishes


class Entry(NamedTuple):
    state: str = "free"  # free | allocated | bound | releasing | retained
    uid: int = 0


class Listener(NamedTuple):
    tag: int = 0  # UID of its owner, 0 = there is none
    arn: int = 0


GONE, FREE, NOBODY = Pod(), Entry(), Listener()
MINE = ("allocated", "bound")


class Listing(NamedTuple):
    tags: tuple[int, ...]
    groups: tuple[tuple[int, int], ...]
    pods: tuple[Pod, ...] = ()


class Run(NamedTuple):
    at: str
    name: int
    uid: int = 0  # of the entry that it works on
    wants: bool = False
    shown: int = -1
    fresh: bool = False  # nobody has written the pod since it was read
    leased: bool = True
    fenced: bool = False  # a newer run has raised the fence
    current: bool = True  # its incarnation is that of Redis
    port: int = -1
    arn: int = 0
    tag: int = 0
    listed: Listing | None = None  # by a rebuild


class Redis(NamedTuple):
    """What only rebuild.py changes."""

    ready: bool = True
    copy: tuple[tuple[Entry, ...], tuple[Pod, ...]] = ((), ())
    copies: int = 0
    losses: int = 0
    snapshots: tuple[Pod | None, ...] = (None, None)  # None = as the pod is now
    old: tuple[Entry, ...] | None = None  # the ledger of an old master that takes writes


class S(NamedTuple):
    pods: tuple[Pod, ...]
    ledger: tuple[Entry, ...]
    listeners: tuple[Listener, ...]
    groups: frozenset[tuple[int, int]]  # UID, port
    runs: tuple[Run | None, ...]
    events: int
    slow: int
    deaths: int
    redis: Redis = Redis()


def name_of(uid: int) -> int:
    return uid // 10


def put(s: S, at: int, run: Run | None) -> S:
    """Runs are alike: they are kept in order."""
    runs = (*s.runs[:at], run, *s.runs[at + 1 :])
    return s._replace(runs=tuple(sorted(runs, key=lambda r: r or ())))


def entry(s: S, port: int, what: Entry) -> S:
    return s._replace(ledger=(*s.ledger[:port], what, *s.ledger[port + 1 :]))


def without(s: S, arn: int) -> S:
    return s._replace(listeners=tuple(NOBODY if there.arn == arn else there for there in s.listeners))


def written(s: S, name: int, pod: Pod, by: int = -1) -> S:
    """Whoever else has read the pod has an old version of it."""
    runs = tuple(
        r._replace(fresh=False) if r and k != by and r.name == name and r.fresh else r for k, r in enumerate(s.runs)
    )
    return s._replace(pods=(*s.pods[:name], pod, *s.pods[name + 1 :]), runs=runs)


def fenced(s: S, name: int, which: Sequence[int]) -> S:
    runs = (r._replace(fenced=True) if r and r.name == name and k in which else r for k, r in enumerate(s.runs))
    return s._replace(runs=tuple(runs))
