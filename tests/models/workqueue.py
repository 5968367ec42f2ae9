"""One key of the queue, two workers, hints in a lossy queue: mark, take, done, wait, sweep, deaths, pauses, lost state.

Several keys, and hints that name none, are in tests/models/drain_queue.py.

One lease a key with two counters, `marked` (generation of the last mark) and `done` (the one that the last valid end
had taken), and one place a key: - nothing to do, Q a hint is outstanding, H held under a lease, W waits for a time.

Shows: two workers never have valid tokens at once; messages are at most one more than faults; an unfinished key is in
an index, and no change waits for a timer; no live object is taken for deleted; and when nothing more happens the last
version has been run. Time is not modelled: a timer may end at any moment. Tokens are numbered anew in every state, only
their equality matters. Bounds: events, faults, waits. A flag that is False is a rule taken away.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore

OVERLAP = "two workers with valid tokens"
FLOOD = "more messages than one and the faults"
LATE = "an event waits for a timer"
MISTAKEN = "a live object is taken for deleted"


class Flags(NamedTuple):
    events: int = 2
    faults: int = 1
    waits: int = 1
    copy: bool = False  # Redis may restart with the state of one earlier moment
    generation: bool = True  # the end compares the generation with the one taken; False: it makes the key clean
    atomic: bool = True  # snapshot and generation are read in one script
    lease: bool = True  # an ended lease makes the key dirty
    holder: bool = True  # the end checks the token
    stale: bool = True  # a refused end makes the key dirty
    forget: bool = True  # lost hints alone are replaced; False: one is sent for every dirty key without a holder
    timer: bool = True  # a wait leaves the key clean, and a mark ends it; False: it stays dirty until the time is over
    promote: bool = True  # a due timer becomes a hint in one script; False: it is removed first
    unknown: bool = True  # no snapshot means unknown; False: deleted
    noticed: bool = True  # the publisher notices that marks are gone


class Key(NamedTuple):
    snapshot: int | None = 0
    marked: int = 0
    done: int = 0
    place: str = "-"
    token: int = 0  # the holder's, 0 = none


class Worker(NamedTuple):
    at: str = "idle"  # idle | popped | read | taken | acted
    generation: int = 0
    snapshot: int | None = 0
    token: int = 0
    late: bool = False  # its lease has ended under it


class S(NamedTuple):
    world: int  # latest version
    faults: int
    waits: int
    key: Key = Key()
    messages: int = 0
    unsent: int = 0  # scripts whose caller has not published yet
    workers: tuple[Worker, ...] = (Worker(), Worker())
    applied: int | None = 0  # version that the last accepted run saw
    owed: bool = False  # a wait that no run has followed
    mistaken: bool = False
    relist: bool = False
    moving: bool = False
    copy: tuple[Key, int] | None = None  # an earlier key, and how many messages there were


Edge = tuple[str, str, S]


def put(s: S, at: int, worker: Worker) -> S:
    return s._replace(workers=(*s.workers[:at], worker, *s.workers[at + 1 :]))


def send(s: S, key: Key, hints: int) -> S:
    return s._replace(key=key, unsent=s.unsent + hints)


class Queue:
    def __init__(self, flags: Flags) -> None:
        self.flags = flags

    def step(self, s: S) -> Iterator[Edge]:
        yield from self.publisher(s)
        yield from self.sweeps(s)
        yield from self.timers(s)
        idle = next((at for at, w in enumerate(s.workers) if w.at == "idle"), -1)
        for at, worker in enumerate(s.workers):
            if worker.at != "idle" or at == idle:  # idle workers are alike
                for label, after in self.worker(s, at, worker):
                    yield SYS, f"{'AB'[at]} {label}", after
        if self.flags.copy and s.copy is None:
            yield ENV, "a copy of Redis is kept", s._replace(copy=(s.key, s.messages))
        yield from self.faults(s) if s.faults else ()

    def mark(self, key: Key, snapshot: int | None) -> tuple[Key, int]:
        idle = key.place == "-" or (key.place == "W" and self.flags.timer)
        key = key._replace(snapshot=snapshot, marked=key.marked + 1)
        return (key._replace(place="Q"), 1) if idle else (key, 0)

    def publisher(self, s: S) -> Iterator[Edge]:
        if s.world < self.flags.events and not s.relist:
            after = send(s, *self.mark(s.key, s.world + 1))
            yield ENV, f"event {s.world + 1} is marked", after._replace(world=s.world + 1)
        if s.relist:
            yield SYS, "the publisher lists and marks", send(s, *self.mark(s.key, s.world))._replace(relist=False)
        if s.unsent:
            yield SYS, "a hint is sent", s._replace(unsent=s.unsent - 1, messages=s.messages + 1)

    def sweeps(self, s: S) -> Iterator[Edge]:
        key, dirty = s.key, s.key.marked > s.key.done
        popped = sum(w.at in ("popped", "read") for w in s.workers)
        if self.flags.forget and key.place == "Q" and not s.messages:
            if not s.unsent and not popped:
                yield SYS, "the hint was lost, another is sent", s._replace(unsent=1)
            elif s.faults:
                yield ENV, "the tick forgets a hint that is late", s._replace(unsent=s.unsent + 1, faults=s.faults - 1)
        if not self.flags.forget and dirty and key.place in "QW":
            yield SYS, "a sweep sends a hint of a dirty key", s._replace(messages=s.messages + 1)
        if key.place == "H" and self.flags.lease and all(w.token != key.token for w in s.workers):
            yield SYS, "the lease of a dead holder ends", send(s, *expired(key))

    def timers(self, s: S) -> Iterator[Edge]:
        key = s.key
        if key.place == "W" and self.flags.promote:
            yield SYS, "the wait is over", send(s, key._replace(place="Q", marked=key.marked + 1), 1)
        if key.place == "W" and not self.flags.promote and not s.moving:
            yield SYS, "the wait is over: removed", s._replace(key=key._replace(place="-"), moving=True)
        if s.moving:
            yield SYS, "what was removed is marked", send(s, *self.mark(key, key.snapshot))._replace(moving=False)

    def worker(self, s: S, at: int, w: Worker) -> Iterator[tuple[str, S]]:
        if w.at == "idle" and s.messages:
            yield "pops a message", put(s, at, w._replace(at="popped"))._replace(messages=s.messages - 1)
        if w.at == "popped" and not self.flags.atomic:
            yield f"reads {s.key.snapshot}", put(s, at, w._replace(at="read", snapshot=s.key.snapshot))
        elif w.at in ("popped", "read"):
            yield self.take(s, at, w)
        if w.at == "taken":
            mistaken = s.mistaken or (w.snapshot is None and not self.flags.unknown)
            yield "acts", put(s, at, w._replace(at="acted"))._replace(mistaken=mistaken)
        if w.at == "acted":
            yield "ends", self.end(s, at, w, wait=False)
            if s.waits:
                yield "ends with a wait", self.end(s, at, w, wait=True)

    def take(self, s: S, at: int, w: Worker) -> tuple[str, S]:
        key = s.key
        if key.place == "H" or key.marked <= key.done:
            return "drops the message", put(s, at, Worker())
        snapshot = w.snapshot if w.at == "read" else key.snapshot
        taken = put(s, at, Worker("taken", key.marked, snapshot, 9))
        return f"takes {key.marked} with {snapshot}", taken._replace(key=key._replace(place="H", token=9), owed=False)

    def end(self, s: S, at: int, w: Worker, *, wait: bool) -> S:
        key, s = s.key, put(s, at, Worker())._replace(waits=s.waits - wait)
        if self.flags.holder and w.token != key.token:
            return send(s, *self.mark(key, key.snapshot)) if self.flags.stale else s
        done = w.generation if self.flags.generation else key.marked
        stays = wait and not self.flags.timer
        key = key._replace(done=key.done if stays else done, token=0)
        if wait and (stays or key.marked == done):
            return s._replace(key=key._replace(place="W"), applied=w.snapshot, owed=True)
        more = key.marked > key.done
        s = send(s, key._replace(place="Q" if more else "-"), int(more))
        return s._replace(applied=w.snapshot, owed=False)

    def faults(self, s: S) -> Iterator[Edge]:
        less = s._replace(faults=s.faults - 1)
        if s.messages:
            yield ENV, "a message is lost", less._replace(messages=s.messages - 1)
        yield ENV, "a message is doubled", less._replace(messages=s.messages + 1)
        if s.unsent:
            yield ENV, "a process dies between script and message", less._replace(unsent=s.unsent - 1)
        if s.moving:
            yield ENV, "the mover dies", less._replace(moving=False)
        for at, worker in enumerate(s.workers):
            if worker.at != "idle":
                yield from self.deaths(less, at, worker)
        if not s.relist:
            yield from self.losses(less)

    def deaths(self, s: S, at: int, w: Worker) -> Iterator[Edge]:
        dead = put(s, at, Worker())
        yield ENV, f"{'AB'[at]} dies with its message", dead
        yield ENV, f"{'AB'[at]} dies, its message comes back", dead._replace(messages=s.messages + 1)
        if w.token and w.token == s.key.token and self.flags.lease:
            late = put(s, at, w._replace(late=True))
            yield ENV, f"{'AB'[at]} pauses for longer than its lease", send(late, *expired(s.key))

    def losses(self, s: S) -> Iterator[Edge]:
        for messages in {0, s.messages}:
            yield ENV, f"Redis is flushed, {messages} messages are left", self.lost(s, Key(snapshot=None), messages)
        if s.copy:
            key, then = s.copy
            for messages in {0, s.messages, then}:
                yield ENV, f"Redis is an old copy, {messages} messages are left", self.lost(s, key, messages)

    def lost(self, s: S, key: Key, messages: int) -> S:
        workers = tuple(w._replace(late=w.late or w.token != key.token) if w.token else w for w in s.workers)
        relist = self.flags.noticed and s.key.snapshot != key.snapshot
        owed = s.owed and (relist or key.place != "-")
        return s._replace(workers=workers, key=key, messages=messages, relist=relist, owed=owed, copy=None)


def expired(key: Key) -> tuple[Key, int]:
    return key._replace(place="Q", token=0, marked=key.marked + 1), 1


def renumbered(s: S) -> S:
    kept = s.copy[0].token if s.copy else 0
    new = {token: n for n, token in enumerate(sorted({0, s.key.token, kept, *(w.token for w in s.workers)}))}
    workers = tuple(w._replace(token=new[w.token]) if w.token else w for w in s.workers)
    copy = s.copy and (s.copy[0]._replace(token=new[kept]), s.copy[1])
    return s._replace(key=s.key._replace(token=new[s.key.token]), workers=workers, copy=copy)


def busy(s: S) -> int:
    return s.messages + s.unsent + sum(w.at in ("popped", "read") for w in s.workers)


def settled(s: S) -> bool:
    done = s.key.place == "-" and s.key.marked == s.key.done and s.applied == s.world
    return done and not s.owed and not s.messages and not s.relist


def check(flags: Flags) -> Result:
    rules = {
        OVERLAP: lambda s: sum(w.at in ("taken", "acted") and not w.late for w in s.workers) <= 1,
        FLOOD: lambda s: busy(s) <= 1 + (flags.faults - s.faults) * (1 + flags.copy),  # a copy has what was popped
        LATE: lambda s: s.key.place != "W" or s.applied == s.key.snapshot or s.relist,
        MISTAKEN: lambda s: not s.mistaken,
    }
    return explore(S(0, flags.faults, flags.waits), Queue(flags).step, rules, settled, renumbered)
