"""The publisher's scripts: one name of a pod, two publishers, replay, a missed deletion, relist, handover, lost Redis.

Every mark compares the epoch of the Kubernetes Lease and the stamp, the run of Redis under which a list was complete;
only the publisher stamps. It assumes its epoch, lists, compares with what Redis has, marks, stamps, and watches. The
world is the list of its versions: history[v - 1] is the UID that lives after version v, 0 = none. A worker's run is one
step (workqueue.py has the queue). `owners` is what AWS has; it survives Redis.

Shows: no live pod is released, no run acts on an older state than one before, and what Redis and AWS have ends equal to
the cluster. Bounds: changes, faults, one handover. A flag that is False is a rule taken away.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore

OLDER, RELEASED = "acted on an older state than before", "released a live pod"


class Flags(NamedTuple):
    changes: int = 3
    faults: int = 1
    saves: bool = True  # Redis may restart with the state of one earlier moment
    deleted_lease: bool = False  # the Lease was deleted by hand: the next holder begins with the same number
    fence: bool = True  # scripts compare epoch and stamp
    identity: bool = True  # the epoch has the holder's identity beside its number
    stamp: bool = True  # a publisher notices that Redis has lost state
    pinned: bool = True  # a list is stamped only for the run of Redis that it began under
    gate: bool = True  # workers take nothing under another run of Redis than the stamp's
    redis_diff: bool = True  # a list is compared with Redis; False: with the publisher's memory
    late_scan: bool = True  # Redis is read after the epoch was assumed
    consistent: bool = True  # no list comes from an old cache
    gone_version: bool = True  # what a list lacks is marked at the list's version; False: without condition
    watermark: bool = True  # events at or below the watermark are dropped
    all_uids: bool = True  # a run releases other UIDs of its name
    repair: str = "after"  # what only AWS knows is released "after" the stamp | "before" it | "never"


Known = tuple[int, int, bool]  # version, UID, alive


class Redis(NamedTuple):
    known: Known | None = None
    dirty: bool = False
    epoch: tuple[int, int] = (0, 0)
    stamp: int = 0  # run of Redis
    repaired: int = 0  # run of Redis under which the ledger was compared with AWS


class Publisher(NamedTuple):
    at: str = "off"  # off | assume | list | scan | diff | stamp | watch
    epoch: tuple[int, int] = (0, 0)
    position: int = 0  # its watermark
    event: int = 0  # the version in its hand
    relist: bool = False
    memory: Known | None = None
    found: Known | None = None
    run: int = 0  # of Redis, when it began
    old: bool = False  # paused, and another holds the Lease


class S(NamedTuple):
    history: tuple[int, ...]
    redis: Redis
    publishers: tuple[Publisher, Publisher]
    faults: int
    run: int = 1
    owners: frozenset[int] = frozenset({1})
    acted: int = 1
    bad: str = ""
    saved: Redis | None = None


Edge = tuple[str, str, S]
Step = tuple[str, S, Publisher]


def put(s: S, at: int, p: Publisher) -> S:
    return s._replace(publishers=(p, s.publishers[1]) if at == 0 else (s.publishers[0], p))


def mark(redis: Redis, known: Known) -> Redis:
    return redis if redis.known and known[0] <= redis.known[0] else redis._replace(known=known, dirty=True)


class Model:
    def __init__(self, flags: Flags) -> None:
        self.flags = flags
        self.acts = {
            "assume": self.assume,
            "list": self.list_pods,
            "scan": self.scan,
            "diff": self.diff,
            "stamp": self.stamp,
            "watch": self.watch,
        }

    def step(self, s: S) -> Iterator[Edge]:
        for kind, label, after in self.edges(s):
            yield kind, label, self.forgetful(after)

    def forgetful(self, s: S) -> S:
        """What cannot matter any more is dropped, so that states are equal."""
        if self.flags.redis_diff:
            one, two = (p._replace(memory=None) for p in s.publishers)
            s = s._replace(publishers=(one, two))
        return s if s.faults else s._replace(saved=None)

    def edges(self, s: S) -> Iterator[Edge]:
        ready = s.redis.stamp == s.run
        yield from self.changes(s)
        if s.redis.dirty and (ready or not self.flags.gate):
            yield SYS, f"a run on {s.redis.known}", self.work(s)
        if s.redis.repaired != s.run and (ready or self.flags.repair != "after"):
            yield SYS, "the ledger is compared with AWS", self.repair(s)
        for at, publisher in enumerate(s.publishers):
            yield from self.publishes(s, at, publisher)
        if s.faults:
            yield from self.losses(s)

    def changes(self, s: S) -> Iterator[Edge]:
        now = s.history[-1]
        for uid in ((now, 0) if now else (max(s.history) + 1,)) if len(s.history) < self.flags.changes else ():
            yield ENV, f"version {len(s.history) + 1}: {uid}", s._replace(history=(*s.history, uid))

    def losses(self, s: S) -> Iterator[Edge]:
        less = s._replace(faults=s.faults - 1)
        if s.redis != Redis():
            yield ENV, "Redis is flushed", less._replace(redis=Redis())
        if s.saved is None and self.flags.saves:
            yield ENV, "Redis is on disk", s._replace(saved=s.redis)
        elif s.saved:
            yield ENV, "Redis restarts with that", less._replace(redis=s.saved, run=s.run + 1)

    def publishes(self, s: S, at: int, p: Publisher) -> Iterator[Edge]:
        for label, after, then in self.acts[p.at](s, p) if p.at != "off" else ():
            ends = p.old and then.at != "off"  # it woke for one script, then it looks at its Lease
            new = then._replace(at="off", old=False, event=0) if ends else then
            yield ENV if p.old else SYS, f"P{at + 1}{' (old)' * p.old} {label}", put(after, at, new)
        if s.faults and p.at != "off" and not p.old:
            yield from self.troubles(s._replace(faults=s.faults - 1), at, p)

    def troubles(self, s: S, at: int, p: Publisher) -> Iterator[Edge]:
        if p.at == "watch" and not p.event:
            if p.position < len(s.history):
                missed = p._replace(position=p.position + 1, relist=True)
                yield ENV, f"P{at + 1} misses an event, then 410", put(s, at, missed)
            for version in range(1, p.position + 1) if not self.flags.watermark else ():
                yield ENV, f"P{at + 1} is sent version {version} again", put(s, at, p._replace(event=version))
        if at == 0:
            number = 1 if self.flags.deleted_lease else 2
            epoch = (number, 2 if self.flags.identity else 1)
            heir = Publisher(self.begin(), epoch)
            yield ENV, "P1 pauses, P2 gets the Lease", s._replace(publishers=(p._replace(old=True), heir))

    def begin(self) -> str:
        return "assume" if self.flags.late_scan else "list"

    def again(self, p: Publisher) -> Publisher:
        return p._replace(at=self.begin(), event=0)

    def outbid(self, s: S, p: Publisher) -> bool:
        return self.flags.fence and s.redis.epoch[0] > p.epoch[0]

    def differs(self, s: S, p: Publisher) -> bool:
        return self.flags.fence and s.redis.epoch != p.epoch

    def lost(self, s: S, p: Publisher) -> bool:
        return self.flags.stamp and (s.redis.stamp != s.run or self.differs(s, p))

    def assume(self, s: S, p: Publisher) -> Iterator[Step]:
        if self.outbid(s, p):
            yield "may not assume its epoch", s, Publisher()
            return
        then = p._replace(at="list" if self.flags.late_scan else "diff", run=s.run)
        yield f"assumes {p.epoch}", s._replace(redis=s.redis._replace(epoch=p.epoch)), then

    def list_pods(self, s: S, p: Publisher) -> Iterator[Step]:
        newest = len(s.history)
        yield f"lists at {newest}", s, p._replace(at="scan", position=newest)
        for version in range(p.position, newest) if s.faults and not self.flags.consistent else ():
            old = s._replace(faults=s.faults - 1)
            yield f"lists at {version}, from an old cache", old, p._replace(at="scan", position=version)

    def scan(self, s: S, p: Publisher) -> Iterator[Step]:
        found = s.redis.known if self.flags.redis_diff else p.memory
        yield f"knew {found}", s, p._replace(at="diff" if self.flags.late_scan else "assume", found=found)

    def diff(self, s: S, p: Publisher) -> Iterator[Step]:
        if self.differs(s, p):
            yield "may not mark", s, Publisher() if self.outbid(s, p) else self.again(p)
            return
        uid = s.history[p.position - 1] if p.position else 0
        memory = (p.position, uid, True) if uid else None
        redis = mark(s.redis, memory) if memory else self.missing(s.redis, p)
        yield "marks what differs", s._replace(redis=redis), p._replace(at="stamp", memory=memory, found=None)

    def missing(self, redis: Redis, p: Publisher) -> Redis:
        if not p.found or not redis.known:
            return redis
        version, uid, _ = redis.known
        if self.flags.gone_version:
            return mark(redis, (p.position, uid, False))
        return redis._replace(known=(version, uid, False), dirty=True)

    def stamp(self, s: S, p: Publisher) -> Iterator[Step]:
        if self.differs(s, p) or (self.flags.fence and self.flags.pinned and p.run != s.run):
            yield "may not stamp", s, Publisher() if self.outbid(s, p) else self.again(p)
            return
        stamped = s._replace(redis=s.redis._replace(stamp=s.run))
        yield "stamps", stamped, p._replace(at="watch", relist=False, run=0)

    def watch(self, s: S, p: Publisher) -> Iterator[Step]:
        if self.outbid(s, p):
            yield "is outbid", s, Publisher()
        elif self.lost(s, p):
            yield "finds that state is lost", s, self.again(p)
        elif p.event:
            alive = bool(s.history[p.event - 1])
            known = (p.event, s.history[p.event - 1] or s.history[p.event - 2], alive)
            yield f"marks {known}", s._replace(redis=mark(s.redis, known)), p._replace(event=0, memory=known)
        elif p.relist:
            yield "lists again", s, p._replace(at="list", run=s.run)
        elif p.position < len(s.history):
            yield "reads an event", s, p._replace(position=p.position + 1, event=p.position + 1)

    def work(self, s: S) -> S:
        redis = s.redis._replace(dirty=False)
        if not redis.known:
            return s._replace(redis=redis)
        version, uid, alive = redis.known
        owners = frozenset({uid}) if alive else frozenset[int]()
        if not self.flags.all_uids:
            owners = s.owners | {uid} if alive else s.owners - {uid}
        bad = RELEASED if s.history[-1] in s.owners - owners else OLDER if version < s.acted else ""
        redis = redis if alive else redis._replace(known=None)
        return s._replace(redis=redis, owners=owners, acted=max(s.acted, version), bad=s.bad or bad)

    def repair(self, s: S) -> S:
        known = {s.redis.known[1]} if s.redis.known and s.redis.known[2] else set[int]()
        owners = s.owners if self.flags.repair == "never" else s.owners & known
        bad = RELEASED if s.history[-1] in s.owners - owners else ""
        return s._replace(redis=s.redis._replace(repaired=s.run), owners=owners, bad=s.bad or bad)


def settled(s: S) -> bool:
    alive, known = s.history[-1], s.redis.known
    watches = any(not p.old and p.at == "watch" for p in s.publishers)
    right = known == (len(s.history), alive, True) if alive else not (known and known[2])
    return watches and right and s.owners == ({alive} if alive else set()) and not s.redis.dirty


def check(flags: Flags) -> Result:
    pod, first = (1, 1, True), (1, 1)
    publishers = (Publisher("watch", first, 1, memory=pod), Publisher())
    init = S((1,), Redis(pod, epoch=first, stamp=1, repaired=1), publishers, flags.faults)
    rules = {OLDER: lambda s: s.bad != OLDER, RELEASED: lambda s: s.bad != RELEASED}
    return explore(init, Model(flags).step, rules, settled)
