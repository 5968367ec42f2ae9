"""Scale-down and a claim on one shared pool of pods: two stores, Redis (slots, fences) and Kubernetes (pods, labels).

Two pods of one slot, a floor of one, two jobs, one claim that binds and later releases, two workers that remove pods,
one sweep. Whoever has read a pod holds its version `fresh` until anybody writes it. A worker, the claim's worker or the
sweep dies between any two steps; a reply of Kubernetes is lost; a holder counts as silent although it lives; Kubernetes
refuses every deletion from now on.

Shows: no pod with a job or claim is deleted, no job goes to a claimed or terminating pod, no claim takes a pod with a
job, the floor is kept; and in the end jobs are done, the claim was served, and no pod stays closed. Bounds: faults,
`removals` that workers begin. A flag that is False is a rule taken away.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore

IN_USE, MISPLACED, TAKEN, FLOOR = (
    "a pod with a job or claim is deleted",
    "a job is placed on a claimed or terminating pod",
    "a claim takes a pod with a job",
    "the pool falls below its floor",
)
BREACHES = (IN_USE, MISPLACED, TAKEN, FLOOR)


class Flags(NamedTuple):
    faults: int = 1
    removals: int = 2
    take: bool = True  # a claim takes the pod in Redis before it writes the pod
    order: bool = True  # live read, fence, deletion, each time; False: fence, live read, deletion
    rv: bool = True  # the deletion carries the version of the live read
    bump: bool = True  # a closed pod is written before it opens
    lift: bool = True  # the sweep takes over what its holder has left
    floor: bool = True  # the script that fences counts
    register: bool = True  # a report opens no pod that terminates


class Pod(NamedTuple):
    life: str = "live"  # live | terminating | gone
    claimed: bool = False
    closed: str = "open"  # in Redis: open | 0 1 fenced by a worker | claim | sweep | unknown
    job: bool = False


class Act(NamedTuple):
    at: str = "idle"
    pod: int = 0
    fresh: bool = False


IDLE = Act()


class S(NamedTuple):
    faults: int
    removals: int
    pods: tuple[Pod, Pod] = (Pod(), Pod())
    jobs: tuple[str, str] = ("new", "new")  # new | waits | 0 1: on that pod | done
    workers: tuple[Act, Act] = (IDLE, IDLE)  # decided | fenced | read | verified | deleted
    claim: Act = IDLE  # wanted | read | taken | bound | unlabelled | released
    sweep: Act = IDLE  # taken over | written
    denied: bool = False
    bad: str = ""

    def less(self) -> S:
        return self._replace(faults=self.faults - 1)


Edge = tuple[str, str, S]


def change(s: S, at: int, **values: object) -> S:
    """What only Redis knows, or a pod without its version."""
    pod = s.pods[at]._replace(**values)  # type: ignore[arg-type]  # fields of a pod
    return s._replace(pods=(pod, s.pods[1]) if at == 0 else (s.pods[0], pod))


def write(s: S, at: int, **values: object) -> S:
    """A write in Kubernetes: every version of the pod that was read before is stale."""
    one, two = (w._replace(fresh=False) if w.pod == at else w for w in s.workers)
    claim = s.claim._replace(fresh=False) if s.claim.pod == at else s.claim
    return change(s, at, **values)._replace(workers=(one, two), claim=claim)


def work(s: S, n: int, act: Act) -> S:
    return s._replace(workers=(act, s.workers[1]) if n == 0 else (s.workers[0], act))


class Model:
    def __init__(self, flags: Flags) -> None:
        self.flags = flags
        self.read_at, self.fence_at = ("decided", "read") if flags.order else ("fenced", "decided")

    def step(self, s: S) -> Iterator[Edge]:
        yield from self.place(s)
        for n, worker in enumerate(s.workers):
            yield from self.begin(s, n) if worker == IDLE else self.worker(s, n, worker)
        yield from self.claiming(s, s.claim)
        yield from self.take_over(s) if s.sweep == IDLE and self.flags.lift else self.sweeping(s, s.sweep)
        if s.faults and not s.denied:
            yield ENV, "Kubernetes refuses deletions from now on", s.less()._replace(denied=True)
        for at, pod in enumerate(s.pods):
            yield from self.life(s, at, pod)

    def life(self, s: S, at: int, pod: Pod) -> Iterator[Edge]:
        if pod.life == "terminating":
            yield SYS, f"pod {at} ends", write(s, at, life="gone", claimed=False)
        reports = pod.life == "live" or (pod.life == "terminating" and not self.flags.register)
        if pod.closed == "unknown" and reports:
            yield SYS, f"the runner of pod {at} reports", change(s, at, closed="open")
        busy = [act.pod for act in (*s.workers, s.claim, s.sweep) if act.at not in ("idle", "wanted", "released")]
        wanted = at not in busy and ("waits" in s.jobs or s.claim.at == "wanted")
        if (pod.life, pod.closed) == ("gone", "unknown") and wanted:
            yield SYS, f"a new pod {at} comes", write(s, at, life="live", claimed=False)

    def place(self, s: S) -> Iterator[Edge]:
        for n, job in enumerate(s.jobs):
            if job == "new" and (n == 0 or s.jobs[0] != "new"):
                yield SYS, f"job {n} is submitted", self.job(s, n, "waits")
            if job in ("0", "1"):
                yield SYS, f"job {n} ends", change(self.job(s, n, "done"), int(job), job=False)
            for at, pod in enumerate(s.pods):
                if job == "waits" and pod.closed == "open" and not pod.job:
                    wrong = pod.claimed or pod.life != "live"
                    placed = change(self.job(s, n, str(at)), at, job=True)
                    yield SYS, f"job {n} is placed on pod {at}", placed._replace(bad=MISPLACED if wrong else "")

    def job(self, s: S, n: int, state: str) -> S:
        return s._replace(jobs=(state, s.jobs[1]) if n == 0 else (s.jobs[0], state))

    def begin(self, s: S, n: int) -> Iterator[Edge]:
        calm = s.removals and "waits" not in s.jobs and all(pod.closed == "open" for pod in s.pods)
        for at, pod in enumerate(s.pods):
            if calm and not pod.job:
                begun = work(s, n, Act("decided", at))._replace(removals=s.removals - 1)
                yield SYS, f"worker {n} decides to remove pod {at}", begun

    def worker(self, s: S, n: int, w: Act) -> Iterator[Edge]:
        if s.faults:
            yield ENV, f"worker {n} dies", work(s.less(), n, IDLE)
        if w.at == self.read_at:
            yield SYS, f"worker {n} reads pod {w.pod}", self.read(s, n, w)
        elif w.at == self.fence_at:
            yield SYS, f"worker {n} fences pod {w.pod}", self.fence(s, n, w)
        elif w.at == "deleted":
            pod = s.pods[w.pod]
            if pod.life == "gone" or pod.closed == str(n):
                mine = change(s, w.pod, closed="unknown") if pod.closed == str(n) else s
                yield SYS, f"worker {n} forgets pod {w.pod}", work(mine, n, IDLE)
            else:
                yield SYS, f"pod {w.pod} is no longer worker {n}'s", work(s, n, IDLE)
        else:
            yield from self.delete(s, n, w)

    def read(self, s: S, n: int, w: Act) -> S:
        pod = s.pods[w.pod]
        if pod.life != "live":
            return work(s, n, w._replace(at="deleted", fresh=False))
        if pod.claimed:
            return work(change(s, w.pod, closed="claim") if pod.closed == str(n) else s, n, IDLE)
        return work(s, n, w._replace(at="read", fresh=True))

    def fence(self, s: S, n: int, w: Act) -> S:
        pod, other = s.pods[w.pod], s.pods[1 - w.pod]
        then = w._replace(at="verified") if self.flags.order else w._replace(at="fenced")
        if pod.closed == str(n) and self.flags.order:
            return work(s, n, then)
        left = other.closed in ("open", "claim")
        if pod.closed != "open" or pod.job or (self.flags.floor and not left):
            return work(s, n, IDLE)
        fenced = work(change(s, w.pod, closed=str(n)), n, then)
        return fenced if left else fenced._replace(bad=FLOOR)

    def delete(self, s: S, n: int, w: Act) -> Iterator[Edge]:
        pod, again = s.pods[w.pod], w._replace(at=self.read_at, fresh=False)
        if s.denied:
            yield SYS, f"the deletion of pod {w.pod} is refused", work(s, n, IDLE)
        elif pod.life != "live" or (self.flags.rv and not w.fresh):
            yield SYS, f"the deletion of pod {w.pod} conflicts", work(s, n, again)
        else:
            wrong = IN_USE if pod.job or pod.claimed else ""
            gone = write(s, w.pod, life="terminating")._replace(bad=wrong)
            yield SYS, f"worker {n} deletes pod {w.pod}", work(gone, n, w._replace(at="deleted", fresh=False))
            if s.faults:
                yield ENV, f"worker {n} deletes pod {w.pod}, the reply is lost", work(gone.less(), n, again)

    def claiming(self, s: S, c: Act) -> Iterator[Edge]:
        if c == IDLE:
            yield SYS, "a claim is created", s._replace(claim=Act("wanted"))
        if s.faults and c.at in ("read", "taken", "bound", "unlabelled"):
            then = Act("released" if c.at == "unlabelled" else "wanted")
            yield ENV, "the claim's worker dies", s.less()._replace(claim=then)
        if c.at == "wanted":
            yield from self.look(s)
        elif c.at == "read" and self.flags.take:
            free = s.pods[c.pod].closed == "open" and not s.pods[c.pod].job
            taken = change(s, c.pod, closed="claim")._replace(claim=c._replace(at="taken"))
            yield SYS, f"the claim takes pod {c.pod}", taken if free else s._replace(claim=Act("wanted"))
        elif c.at in ("read", "taken"):
            yield from self.bind(s, c)
        elif c.at == "bound":
            yield SYS, "the claim is released", write(s, c.pod, claimed=False)._replace(claim=Act("unlabelled", c.pod))
        elif c.at == "unlabelled":
            back = change(s, c.pod, closed="open") if s.pods[c.pod].closed == "claim" else s
            yield SYS, f"pod {c.pod} is given back", back._replace(claim=Act("released"))

    def look(self, s: S) -> Iterator[Edge]:
        mine = [at for at, pod in enumerate(s.pods) if pod.life == "live" and pod.claimed]
        for at in mine:
            yield SYS, f"the claim adopts pod {at}", s._replace(claim=Act("bound", at))
        for at, pod in enumerate(s.pods) if not mine else ():
            if pod.life == "live" and not (self.flags.take and (pod.closed != "open" or pod.job)):
                yield SYS, f"the claim reads pod {at}", s._replace(claim=Act("read", at, fresh=True))

    def bind(self, s: S, c: Act) -> Iterator[Edge]:
        pod = s.pods[c.pod]
        if not c.fresh:
            back = change(s, c.pod, closed="open") if self.flags.take and pod.closed == "claim" else s
            yield SYS, f"the write of pod {c.pod} conflicts", back._replace(claim=Act("wanted"))
            return
        bound = write(s, c.pod, claimed=True)._replace(bad=TAKEN if pod.job else "")
        yield SYS, f"the claim binds pod {c.pod}", bound._replace(claim=Act("bound", c.pod))
        if s.faults:
            yield ENV, f"the claim binds pod {c.pod}, the reply is lost", bound.less()._replace(claim=Act("wanted"))

    def take_over(self, s: S) -> Iterator[Edge]:
        for at, pod in enumerate(s.pods):
            held = pod.closed in ("0", "1", "sweep") or (pod.closed == "claim" and not pod.claimed)
            alive = self.alive(s, at, pod)
            if held and pod.life != "terminating" and (not alive or s.faults):
                over = change(s.less() if alive else s, at, closed="sweep")._replace(sweep=Act("taken over", at))
                yield ENV if alive else SYS, f"the sweep takes pod {at} over", over

    def alive(self, s: S, at: int, pod: Pod) -> bool:
        if pod.closed in ("0", "1"):
            worker = s.workers[int(pod.closed)]
            return worker != IDLE and worker.pod == at
        return pod.closed == "claim" and s.claim.at in ("taken", "unlabelled") and s.claim.pod == at

    def sweeping(self, s: S, sweep: Act) -> Iterator[Edge]:
        if sweep == IDLE:
            return
        if s.faults:
            yield ENV, "the sweep dies", s.less()._replace(sweep=IDLE)
        at, pod = sweep.pod, s.pods[sweep.pod]
        opens = pod.life == "live" and not pod.claimed
        if sweep.at == "written" or (opens and not self.flags.bump):
            yield SYS, f"the sweep opens pod {at}", change(s, at, closed="open")._replace(sweep=IDLE)
        elif opens:
            yield SYS, f"the sweep writes pod {at}", write(s, at)._replace(sweep=Act("written", at))
        elif pod.life == "terminating":
            yield SYS, f"pod {at} terminates", s._replace(sweep=IDLE)
        else:
            closed = change(s, at, closed="claim" if pod.claimed else "unknown")
            yield SYS, f"the sweep leaves pod {at} closed", closed._replace(sweep=IDLE)


def settled(s: S) -> bool:
    calm = s.jobs == ("done", "done") and s.claim.at == "released" and s.workers == (IDLE, IDLE) and s.sweep == IDLE
    right = all((pod.closed, pod.life) in (("open", "live"), ("unknown", "gone")) for pod in s.pods)
    return calm and right and any(pod.closed == "open" for pod in s.pods)


def check(flags: Flags) -> Result:
    rules = {breach: lambda s, breach=breach: s.bad != breach for breach in BREACHES}
    return explore(S(flags.faults, flags.removals), Model(flags).step, rules, settled)
