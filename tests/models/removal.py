"""Removal of an empty load balancer, and what may come between: pods, strangers, a stale worker, a loss of Redis.

One slot of a pool. In the ledger its load balancer is active or retiring, in AWS it has an ARN, perhaps the tag,
perhaps a stranger's listener. Two workers at once: a lease may end while its holder is only slow. A step is one script
or one call: look (no stranger?), retire, tag, look again, confirm, delete, forget. Any worker may die at any of them.

Shows: the load balancer of a bound pod is never deleted, nor one on which a stranger was before the deleter's last
look (after it nothing can help: AWS deletes unconditionally); and every empty one that no stranger uses goes in the
end. Retiring is never taken back: with `takes_back`, a stranger's listener makes a retiring one active again, and the
delete of a slow worker then hits a pod. The price: who waits while a stranger uses a retiring one waits for a stranger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore


class Flags(NamedTuple):
    fence: bool = True  # allocation refuses a retiring load balancer
    empty: bool = True  # `retire` and `confirm` look whether it is empty
    tagged: bool = True  # it is tagged before it is deleted
    confirmed: bool = True  # the ledger is asked once more between tag and delete
    honoured: bool = True  # a rebuild takes a tagged one for retiring
    again: bool = True  # strangers are looked for once more before the delete
    by_arn: bool = True  # `confirm`, delete and `forget` name the ARN, not the name
    resumes: bool = True  # the pool's run goes on with what is retiring
    takes_back: bool = False  # a stranger's listener on a retiring one makes it active again
    crashes: int = 1
    losses: int = 1
    pods: int = 2
    strangers: int = 1


class Cloud(NamedTuple):
    arn: int = 0  # 0 = there is none
    tag: bool = False
    stranger: bool = False


class Worker(NamedTuple):
    at: str = "idle"
    arn: int = 0
    seen: Cloud = Cloud()  # of a rebuild
    late: bool = False  # a stranger came after its last look


IDLE = Worker()


class S(NamedTuple):
    crashes: int
    losses: int
    pods: int
    strangers: int
    cloud: Cloud = Cloud(1)
    state: str = "active"  # in the ledger: active | retiring | none | lost
    arn: int = 1  # in the ledger
    pod: str = "-"  # - | waits | bound
    on: int = 0  # ARN that carries the bound pod
    last: int = 1  # highest ARN so far
    workers: tuple[Worker, Worker] = (IDLE, IDLE)
    hit: bool = False  # a stranger's load balancer was deleted, by a worker that could have known


class Model:
    def __init__(self, flags: Flags) -> None:
        self.flags = flags
        self.acts: dict[str, Callable[[S, int, Worker], S]] = {
            "stamp": self.stamp,
            "retire": self.retire,
            "tag": self.tag,
            "look again": self.look,
            "confirm": self.confirm,
            "delete": self.delete,
            "forget": self.forget,
        }

    def init(self) -> S:
        f = self.flags
        return S(f.crashes, f.losses, f.pods, f.strangers)

    def step(self, s: S) -> Iterator[tuple[str, str, S]]:
        yield from self.others(s)
        for n, w in enumerate(s.workers):
            if w.at == "idle":
                yield from self.begins(s, n)
                continue
            if s.crashes:
                yield ENV, f"{n} dies before {w.at}", put(s, n, IDLE)._replace(crashes=s.crashes - 1)
            yield SYS, f"{n} does {w.at}", self.acts[w.at](s, n, w)

    def begins(self, s: S, n: int) -> Iterator[tuple[str, str, S]]:
        if s.state == "lost":
            yield SYS, f"{n} lists AWS for a rebuild", put(s, n, Worker("stamp", seen=s.cloud))
        if s.state == "active" and s.pod == "-" and not s.cloud.stranger:
            yield SYS, f"{n} looks at an idle one", put(s, n, Worker("retire", s.arn))
        takes = not s.cloud.stranger or self.flags.takes_back
        if s.state == "retiring" and self.flags.resumes and s.pod != "bound" and takes:
            yield SYS, f"{n} goes on", put(s, n, self.first(s.arn))

    def first(self, arn: int) -> Worker:
        return Worker("tag" if self.flags.tagged else "look again", arn)

    def others(self, s: S) -> Iterator[tuple[str, str, S]]:
        """Pods, strangers, Redis, scale-up."""
        if s.pods and s.pod == "-":
            yield ENV, "a pod asks for a port", s._replace(pod="waits", pods=s.pods - 1)
        if s.pod == "waits" and (s.state == "active" or (s.state == "retiring" and not self.flags.fence)):
            yield SYS, "the pod is bound", s._replace(pod="bound", on=s.arn)
        if s.pod == "waits" and s.state == "none":
            made = s.cloud if s.cloud.arn else Cloud(s.last + 1)
            grown = s._replace(cloud=made, state="retiring" if made.tag else "active", arn=made.arn)
            yield SYS, "scale-up adds one", grown._replace(last=max(s.last, made.arn))
        if s.pod == "bound":
            yield ENV, "the pod goes", s._replace(pod="-", on=0)
        if s.strangers and s.cloud.arn:
            a, b = (w._replace(late=w.late or w.at in {"confirm", "delete"}) for w in s.workers)
            cloud, left = s.cloud._replace(stranger=True), s.strangers - 1
            yield ENV, "a stranger comes", s._replace(cloud=cloud, strangers=left, workers=(a, b))
        if s.cloud.stranger:
            yield ENV, "the stranger goes", s._replace(cloud=s.cloud._replace(stranger=False))
        if s.losses and s.state != "lost":
            yield ENV, "Redis is lost", s._replace(state="lost", arn=0, losses=s.losses - 1)

    def mine(self, s: S, w: Worker) -> bool:
        return s.state == "retiring" and (w.arn == s.arn or not self.flags.by_arn)

    def empty(self, s: S) -> bool:
        return s.pod != "bound" or not self.flags.empty

    def stamp(self, s: S, n: int, w: Worker) -> S:
        if s.state != "lost":
            return put(s, n, IDLE)
        tagged = w.seen.tag and self.flags.honoured
        state = "retiring" if tagged else "active" if w.seen.arn else "none"
        return put(s, n, IDLE)._replace(state=state, arn=w.seen.arn)

    def retire(self, s: S, n: int, w: Worker) -> S:
        go = s.state == "active" and s.arn == w.arn and self.empty(s) and s.pod != "waits"
        return put(s, n, self.first(w.arn))._replace(state="retiring") if go else put(s, n, IDLE)

    def tag(self, s: S, n: int, w: Worker) -> S:
        cloud = s.cloud._replace(tag=True) if s.cloud.arn == w.arn else s.cloud
        return put(s, n, w._replace(at="look again"))._replace(cloud=cloud)

    def look(self, s: S, n: int, w: Worker) -> S:
        if s.cloud.arn == w.arn and s.cloud.stranger and self.flags.again:
            back = self.flags.takes_back and self.mine(s, w)
            return put(s, n, IDLE)._replace(state="active" if back else s.state)
        return put(s, n, w._replace(at="confirm" if self.flags.confirmed else "delete"))

    def confirm(self, s: S, n: int, w: Worker) -> S:
        return put(s, n, w._replace(at="delete") if self.mine(s, w) and self.empty(s) else IDLE)

    def delete(self, s: S, n: int, w: Worker) -> S:
        after = put(s, n, w._replace(at="forget"))
        if not s.cloud.arn or (self.flags.by_arn and s.cloud.arn != w.arn):
            return after
        return after._replace(cloud=Cloud(), hit=s.hit or (s.cloud.stranger and not w.late))

    def forget(self, s: S, n: int, w: Worker) -> S:
        after = put(s, n, IDLE)
        return after._replace(state="none", arn=0) if self.mine(s, w) else after


def put(s: S, n: int, worker: Worker) -> S:
    pair = (worker, s.workers[1]) if n == 0 else (s.workers[0], worker)
    return s._replace(workers=pair)


def settled(s: S) -> bool:
    idle = all(w.at == "idle" for w in s.workers)
    leftover = s.cloud.arn and not s.cloud.stranger and s.pod == "-"
    waits = s.pod == "waits" and not s.cloud.stranger
    return idle and not waits and s.state in {"active", "retiring", "none"} and not leftover


def check(flags: Flags) -> Result:
    model = Model(flags)
    rules = {
        "a bound pod's load balancer is there": lambda s: s.pod != "bound" or s.on == s.cloud.arn,
        "no stranger is hit": lambda s: not s.hit,
    }
    return explore(model.init(), model.step, rules, settled)
