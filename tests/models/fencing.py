"""Fencing tokens: what makes one unique, and how a ledger checks it that cannot read the lease.

One key, two workers. A run takes the key under a new token, observes and commits in a ledger of another hash slot, and
says done. The ledger has the highest token that it was shown, refuses lower ones, and is shown one by the first look
of a run. Faults, `faults` in a run: a worker is slower than its lease, the queue is flushed, TIME goes back, as after a
failover. A run whose token is then too low gives its key back.

Shows: two workers never have valid tokens at once; nothing is committed on an observation that is no longer true; and
in the end the key is clean. Tokens are numbered anew in every state. A flag that is False is a rule taken away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore

TWINS, LATE = "two workers with valid tokens", "a commit on an observation that is no longer true"
NOBODY = -1


class Flags(NamedTuple):
    marks: int = 3
    faults: int = 2
    flushes: bool = True  # the queue may be flushed
    time: bool = True  # a token is at least TIME; False: it is counted in the key's hash
    nonce: bool = True  # a token carries the nonce of its worker
    checks: bool = True  # the ledger refuses tokens lower than the highest
    raises: bool = True  # also a look raises the highest; False: a commit alone


class Token(NamedTuple):
    number: int = 0  # 0: none
    worker: int = NOBODY


class Worker(NamedTuple):
    at: str = "idle"  # idle | taken | observed | committed | refused
    token: int = 0
    version: int = 0  # of the ledger, as it observed it
    late: bool = False  # its lease has ended


class S(NamedTuple):
    marks: int
    faults: int
    dirty: bool = False
    lease: Token = Token()
    last: int = 0  # token in the key's hash
    time: int = 1  # a token made now is at least this
    highest: Token = Token()  # in the ledger
    version: int = 0  # of the ledger
    workers: tuple[Worker, ...] = (Worker(), Worker())
    committed_late: bool = False


Edge = tuple[str, str, S]


def put(s: S, at: int, worker: Worker) -> S:
    return s._replace(workers=(*s.workers[:at], worker, *s.workers[at + 1 :]))


class Fencing:
    def __init__(self, flags: Flags) -> None:
        self.flags = flags

    def step(self, s: S) -> Iterator[Edge]:
        if s.marks:
            yield ENV, "the key is marked", s._replace(marks=s.marks - 1, dirty=True)
        if s.faults:
            yield from self.losses(s._replace(faults=s.faults - 1))
        idle = next((at for at, worker in enumerate(s.workers) if worker.at == "idle"), NOBODY)
        for at, worker in enumerate(s.workers):
            if worker.at != "idle":
                yield from self.running(s, at, worker)
            elif at == idle and s.dirty and not s.lease.number:
                yield self.take(s, at)

    def losses(self, s: S) -> Iterator[Edge]:
        if self.flags.flushes and (s.last or s.lease.number):
            workers = tuple(worker._replace(late=worker.at != "idle") for worker in s.workers)
            yield ENV, "the queue is flushed, and the key is marked", self.free(s)._replace(last=0, workers=workers)
        if s.time > 1:
            yield ENV, "TIME goes back", s._replace(time=1)
        for at, worker in enumerate(s.workers):
            if worker.at != "idle" and not worker.late and self.holds(s, at, worker):
                yield ENV, f"{at} is slower than its lease", put(self.free(s), at, worker._replace(late=True))

    def free(self, s: S) -> S:
        return s._replace(lease=Token(), dirty=True)

    def holds(self, s: S, at: int, worker: Worker) -> bool:
        return worker.token == s.lease.number != 0 and (s.lease.worker == at or not self.flags.nonce)

    def take(self, s: S, at: int) -> Edge:
        new = max(s.last + 1, s.time) if self.flags.time else s.last + 1
        after = s._replace(dirty=False, lease=Token(new, at), last=new, time=max(s.time, new + 1))
        return SYS, f"{at} takes the key with token {new}", put(after, at, Worker("taken", new))

    def running(self, s: S, at: int, worker: Worker) -> Iterator[Edge]:
        if worker.at in ("taken", "observed"):
            yield self.asks(s, at, worker)
        elif not self.holds(s, at, worker):
            yield SYS, f"the end of {at} is refused", put(s, at, Worker())
        elif worker.at == "refused":
            yield SYS, f"{at} gives the key back", put(self.free(s), at, Worker())
        else:
            done = put(s._replace(lease=Token()), at, Worker())
            yield SYS, f"{at} is done", done
            if not s.dirty:
                yield SYS, f"{at} is done, and the hash of a deleted pod is removed", done._replace(last=0)

    def asks(self, s: S, at: int, worker: Worker) -> Edge:
        """A script of the ledger."""
        name = "looks" if worker.at == "taken" else "commits"
        if not self.accepts(s, at, worker):
            then = worker._replace(at="refused") if self.holds(s, at, worker) else Worker()
            return SYS, f"{at} {name}, and is refused", put(s, at, then)
        raised = s._replace(highest=Token(worker.token, at)) if self.flags.checks else s
        if worker.at == "taken":
            after = raised if self.flags.raises else s
            return SYS, f"{at} looks", put(after, at, worker._replace(at="observed", version=s.version))
        late = s.committed_late or s.version != worker.version
        after = raised._replace(version=s.version + 1, committed_late=late)
        return SYS, f"{at} commits", put(after, at, worker._replace(at="committed"))

    def accepts(self, s: S, at: int, worker: Worker) -> bool:
        same = worker.token == s.highest.number and (s.highest.worker == at or not self.flags.nonce)
        return not self.flags.checks or same or worker.token > s.highest.number

    def one_holder(self, s: S) -> bool:
        return sum(worker.at != "idle" and self.holds(s, at, worker) for at, worker in enumerate(s.workers)) <= 1


def renumbered(s: S) -> S:
    """The order of tokens alone matters, and of versions whether they are still those that were observed."""
    used = sorted({0, s.lease.number, s.last, s.highest.number, *(worker.token for worker in s.workers)})
    new = {token: n for n, token in enumerate(used)}
    time = max(new[token] for token in used if token < s.time) + 1 if s.time > 1 else 1
    workers = tuple(w._replace(token=new[w.token], version=w.version - s.version) for w in s.workers)
    lease, highest = (token._replace(number=new[token.number]) for token in (s.lease, s.highest))
    return s._replace(lease=lease, last=new[s.last], highest=highest, time=time, version=0, workers=workers)


def settled(s: S) -> bool:
    return not s.dirty and s.lease == Token() and all(worker.at == "idle" for worker in s.workers)


def in_time(s: S) -> bool:
    return not s.committed_late


def check(flags: Flags) -> Result:
    model = Fencing(flags)
    rules: dict[str, Callable[[S], bool]] = {TWINS: model.one_holder, LATE: in_time}
    return explore(S(flags.marks, flags.faults), model.step, rules, settled, renumbered)
