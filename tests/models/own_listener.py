"""Which calls to AWS need no token: create, refused while the port has a listener, and delete by ARN.

Two pods want one port; each comes and goes once. Two workers. Faults, `faults` in a run: a worker is slower than its
lease, or is killed, perhaps with its call on the wire, which takes effect at any later time.

Shows: without precreated listeners a late call can leave an orphan, and never touches the listener of a bound pod, if
nothing is deleted but by its ARN, and a listener in the way only when the pod of its tag is gone, which cannot become
untrue while a worker sleeps. A run adopts the listener of its own UID, one for a pod that is gone looks for a listener
by its tag, and the audit deletes what is left. A flag that is False is a rule taken away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore

TOUCHED = "a bound pod loses its listener"
NOBODY, DEAD = -1, 9
NEXT = {"new": "live", "live": "gone"}


class Flags(NamedTuple):
    faults: int = 2
    by_arn: bool = True  # a deletion names an ARN; False: whatever listens on the port
    when_gone: bool = True  # a listener in the way is deleted when its pod is gone; False: always
    look: bool = True  # a pod that is gone without a recorded ARN: look for a listener with its tag
    audit: bool = True


class Pod(NamedTuple):
    life: str = "new"  # new | live | gone
    dirty: bool = False
    holder: int = NOBODY  # worker, DEAD, or NOBODY


class Listener(NamedTuple):
    arn: int = 0  # 0: none
    tag: int = NOBODY  # the pod in its tag


class Worker(NamedTuple):
    at: str = "idle"  # idle | create | delete | look | record
    pod: int = NOBODY
    arn: int = 0  # of a deletion: what to delete; of a record: what was made or adopted
    then: str = ""  # after a deletion
    dead: bool = False  # its call is on the wire alone


class S(NamedTuple):
    faults: int
    pods: tuple[Pod, ...] = (Pod("live", dirty=True), Pod())
    owner: int = NOBODY  # in the ledger
    arn: int = 0  # in the ledger
    listener: Listener = Listener()
    created: int = 0
    workers: tuple[Worker, ...] = (Worker(), Worker())


Edge = tuple[str, str, S]
IDLE = Worker()


def put(s: S, at: int, worker: Worker) -> S:
    return s._replace(workers=(*s.workers[:at], worker, *s.workers[at + 1 :]))


def change(s: S, n: int, **values: object) -> S:
    pod = s.pods[n]._replace(**values)  # type: ignore[arg-type]  # fields of a pod
    return s._replace(pods=(*s.pods[:n], pod, *s.pods[n + 1 :]))


class Ports:
    def __init__(self, flags: Flags) -> None:
        self.flags = flags

    def step(self, s: S) -> Iterator[Edge]:
        for n, pod in enumerate(s.pods):
            if pod.life in NEXT:
                yield ENV, f"pod {n} is {NEXT[pod.life]}", change(s, n, life=NEXT[pod.life], dirty=True)
            if pod.holder == DEAD:
                yield SYS, f"the lease of pod {n} ends", change(s, n, holder=NOBODY, dirty=True)
        if self.flags.audit and s.listener.arn and s.pods[s.listener.tag].life == "gone" and is_quiet(s):
            yield SYS, "the audit deletes the listener of a pod that is gone", s._replace(listener=Listener())
        for at, worker in enumerate(s.workers):
            if worker != IDLE:
                label, after, then = self.act(s, at, worker)
                yield SYS, f"{at} {label}", put(after, at, IDLE if worker.dead else then)
                yield from self.trouble(s, at, worker)
            elif IDLE not in s.workers[:at]:
                yield from self.takes(s, at)

    def trouble(self, s: S, at: int, worker: Worker) -> Iterator[Edge]:
        if worker.dead or not s.faults:
            return
        less, holds = s._replace(faults=s.faults - 1), s.pods[worker.pod].holder == at
        if holds:
            late = change(less, worker.pod, holder=NOBODY, dirty=True)
            yield ENV, f"{at} is slower than its lease before its {worker.at}", late
        dead = change(less, worker.pod, holder=DEAD) if holds else less
        if worker.at in ("create", "delete"):
            yield ENV, f"{at} is killed, its {worker.at} on the wire", put(dead, at, worker._replace(dead=True))
        else:
            yield ENV, f"{at} is killed", put(dead, at, IDLE)

    def takes(self, s: S, at: int) -> Iterator[Edge]:
        for n, pod in enumerate(s.pods):
            if pod.dirty and pod.holder == NOBODY:
                yield SYS, f"{at} takes pod {n}", self.begin(change(s, n, dirty=False), n, at)

    def begin(self, s: S, n: int, at: int) -> S:
        live, mine = s.pods[n].life == "live", s.owner == n
        if s.owner not in (NOBODY, n) or (live and mine and s.arn) or (not live and not mine):
            return s
        worker = Worker("look" if self.flags.look else "record", n)
        if live:
            worker = Worker("create", n)
        elif s.arn:
            worker = Worker("delete", n, s.arn, "record")
        return put(change(s, n, holder=at)._replace(owner=n), at, worker)

    def act(self, s: S, at: int, worker: Worker) -> tuple[str, S, Worker]:
        if worker.at == "create":
            return self.create(s, worker)
        if worker.at == "look":
            arn, tag = s.listener
            own = worker._replace(at="delete", arn=arn, then="record")
            return "looks by tag", s, own if tag == worker.pod else worker._replace(at="record")
        if worker.at == "delete":
            hit = s.listener.arn == worker.arn or not self.flags.by_arn
            after = s._replace(listener=Listener()) if hit else s
            return f"deletes listener {worker.arn}", after, worker._replace(at=worker.then, arn=0)
        return self.record(s, at, worker)

    def create(self, s: S, worker: Worker) -> tuple[str, S, Worker]:
        arn, tag = s.listener
        if not arn:
            new = s.created + 1
            after = s._replace(listener=Listener(new, worker.pod), created=new)
            return f"creates listener {new}", after, worker._replace(at="record", arn=new)
        if tag == worker.pod:
            return f"adopts listener {arn}", s, worker._replace(at="record", arn=arn)
        if not self.flags.when_gone or s.pods[tag].life == "gone":
            return f"meets listener {arn} of pod {tag}", s, worker._replace(at="delete", arn=arn, then="create")
        return f"meets listener {arn} of pod {tag}, which is live", s, worker._replace(at="record", arn=0)

    def record(self, s: S, at: int, worker: Worker) -> tuple[str, S, Worker]:
        if s.pods[worker.pod].holder != at:
            return "may not record: its lease is over", change(s, worker.pod, dirty=True), IDLE
        s = change(s, worker.pod, holder=NOBODY)
        if worker.arn:
            return f"records listener {worker.arn}", s._replace(arn=worker.arn), IDLE
        other = 1 - worker.pod  # released, or it turned out that another has the port
        free = s._replace(owner=NOBODY, arn=0)
        return "frees the port", change(free, other, dirty=True) if s.pods[other].life == "live" else free, IDLE

    def rules(self) -> dict[str, Callable[[S], bool]]:
        return {TOUCHED: lambda s: not s.arn or s.pods[s.owner].life != "live" or s.listener == (s.arn, s.owner)}


def is_quiet(s: S) -> bool:
    return s.workers == (IDLE, IDLE) and not any(pod.dirty for pod in s.pods)


def settled(s: S) -> bool:
    live = [n for n, pod in enumerate(s.pods) if pod.life == "live"]
    if not is_quiet(s) or any(pod.holder != NOBODY for pod in s.pods):
        return False
    if not live:
        return s.owner == NOBODY and not s.listener.arn
    return s.owner in live and s.listener == (s.arn, s.owner)


def check(flags: Flags) -> Result:
    model = Ports(flags)
    return explore(S(flags.faults), model.step, model.rules(), settled)
