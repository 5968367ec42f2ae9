"""The states of the model of retained ports, see retain.py."""

from __future__ import annotations

from typing import NamedTuple

B = 11


class Flags(NamedTuple):
    pods: int = 2  # uids of a
    toggles: int = 1
    slow: int = 1
    crash: int = 1
    loss: int = 1
    other: bool = True  # b comes and goes
    fence: bool = True  # scripts of a run are refused once a newer run has begun
    keep: int = 1  # whether the first pod asks for retention
    oneway: bool = True  # what is releasing is not adopted
    atomic: bool = True  # the sweep compares when it writes: only what is retained still, and whose time is over
    empty: bool = True  # all targets are dropped before the port counts as retained
    compare: bool = True  # an adopted port loses every target that is not its pod's before it is tagged
    retag: bool = True  # the tags name the new uid before the port is recorded bound
    tagfirst: bool = True  # a change of retention is tagged before it is recorded
    keeptag: bool = True  # a rebuild keeps a dead owner's port when its tag says so
    byname: bool = True  # ... and when a live pod of that name publishes it


class Pod(NamedTuple):
    uid: int = 0
    asks: int = 0
    keep: int = 0
    shows: int = 0


class Entry(NamedTuple):
    state: str = "F"  # Free, Allocated, Bound, Retained (timed: its owner is gone), Going
    uid: int = 0
    keep: int = 0
    arn: int = 0
    timed: int = 0
    aimed: int = 0  # its pod's address is registered


class Listener(NamedTuple):
    arn: int = 0
    uid: int = 0
    keep: int = 0
    targets: frozenset[int] = frozenset()


class Run(NamedTuple):
    at: str = ""
    pod: Pod = Pod()
    uid: int = 0  # of the entry that it works on
    arn: int = 0
    fresh: int = 1
    keep: int = 0  # what it will record
    listed: frozenset[int] = frozenset()
    lease: int = 1
    fenced: int = 0


class S(NamedTuple):
    pod: Pod
    entry: Entry = Entry()
    cloud: Listener = Listener()
    runs: tuple[Run | None, Run | None] = (None, None)
    b: int = 0  # 1 asks, 2 bound, 3 gone
    left: tuple[int, ...] = (0, 0, 0, 0, 0)  # pods, toggles, slow, crash, loss
    due: int = 0  # the time of the retained port is over
    swept: int = 0  # the sweep has seen that (without `atomic`)
    promise: int = 0
    late: int = 0
    lost: int = 0  # Redis: 1 lost, 2 the cloud is listed, 3 pods too
    seen: tuple[Listener, Pod, int] | None = None


def spend(s: S, n: int) -> S:
    left = list(s.left)
    left[n] -= 1
    return s._replace(left=tuple(left))


def put(s: S, i: int, run: Run | None) -> S:
    a, b = s.runs
    return s._replace(runs=(run, b) if i == 0 else (a, run))


def stale(s: S) -> S:
    """The pod changed: who read it cannot write to it."""
    a, b = (r and r._replace(fresh=0) for r in s.runs)
    return s._replace(runs=(a, b))
