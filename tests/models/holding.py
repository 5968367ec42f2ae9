"""One pod, closed and opened by two stores: what Kubernetes says of claims is held in Redis, however late.

Kubernetes: a label (I idle, B bound, D draining) and versions: whoever has read the pod writes it only unchanged.
Redis: o open, c taken by the claim, h held because of the label, a set aside, f fenced by a run, t taken over in order
to open. A claim takes (Redis, then the label), and gives back. Two runs of the pool act on what they have read, as late
as they like: hold, lift, fence and delete, end a drain. A job comes to an open pod and ends.

Rules: I4 (no pod with a job is deleted), held (no pod of a claim is deleted), killed (no pod with a job is closed as a
claim's). Ends settled: without a claim the pod is open, or gone; with one it is closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore


class S(NamedTuple):
    """`read`: run -> the label that it has read and whether that is still so, `done`: it has closed or taken over."""

    label: str = "I"
    red: str = "o"
    job: int = 0
    claim: str = "-"  # - none, t taken in Redis and read, x read and changed since, b bound, z over
    runs: tuple[tuple[str, bool, str] | None, ...] = (None, None)
    gone: bool = False
    jobs: int = 1
    fences: int = 1
    faults: int = 1
    wrong: str = ""


def put(s: S, n: int, run: tuple[str, bool, str] | None) -> S:
    return s._replace(runs=(*s.runs[:n], run, *s.runs[n + 1 :]))


def written(s: S, label: str) -> S:
    """Every version that was read before is old."""
    runs = tuple(run and (run[0], False, run[2]) for run in s.runs)
    return s._replace(label=label, runs=runs, claim="x" if s.claim == "t" else s.claim)


def idle_only(s: S, red: str) -> S:
    """The script `hold`; what has a job is set aside until it ends."""
    return s._replace(red="a" if s.red == "o" else s.red) if s.job else s._replace(red=red)


def anything(s: S, red: str) -> S:
    return s._replace(red=red)


Hold = Callable[[S, str], S]
Out = Iterator[tuple[str, str, S]]


def step(hold: Hold, rv: bool, s: S) -> Out:
    if s.wrong or s.gone:
        return
    yield from claims(s)
    yield from jobs(s)
    for n, run in enumerate(s.runs):
        if run is None:
            yield SYS if needed(s) else ENV, f"run {n} reads the pod", put(s, n, (s.label, True, s.red))
        else:
            yield from acts(hold, s, n, run if rv else (run[0], True, run[2]))


def needed(s: S) -> bool:
    """There is something that a run of the pool must do."""
    if any(s.runs) or (s.job and s.red != "o"):
        return False
    return s.label == "D" or (s.label == "B" and s.red not in "ch") or (s.label == "I" and s.red in "hfta") or stale(s)


def stale(s: S) -> bool:
    return s.label == "I" and s.red == "c" and s.claim not in "tx"


def claims(s: S) -> Out:
    if s.claim == "-" and s.red == "o" and not s.job and s.label == "I":
        yield ENV, "the claim takes it", s._replace(red="c", claim="t")
    if s.claim == "t":
        yield SYS, "the claim writes its label", written(s._replace(claim="b"), "B")
        if s.faults:
            yield ENV, "the claim's worker dies", s._replace(claim="z", faults=s.faults - 1)
    if s.claim == "x":
        yield SYS, "the claim's write conflicts", s._replace(claim="z")
    if s.claim == "b" and s.label == "B":
        yield ENV, "the claim gives it back", written(s._replace(claim="z"), "D")
    if s.faults and s.red != "o" and s.label == "B":
        yield ENV, "Redis is an old copy, in which the pod is open", s._replace(red="o", faults=s.faults - 1)


def jobs(s: S) -> Out:
    if s.jobs and s.red == "o":
        placed = s._replace(job=1, jobs=s.jobs - 1)
        yield ENV, "a job is placed", placed
    if s.job:
        yield SYS, "the job ends", s._replace(job=0)


def acts(hold: Hold, s: S, n: int, run: tuple[str, bool, str]) -> Out:
    label, fresh, red = run
    free = put(s, n, None)
    if red == "T":
        yield SYS, f"run {n} writes and opens it", opened(free) if fresh else free
    elif red == "F":
        yield SYS, f"run {n} deletes it", deleted(free) if fresh else free
    elif label in "BD" and red not in "ch":
        yield SYS, f"run {n} holds it", hold(free, "h")
    elif label == "D" or (label == "I" and red in "hfta") or (label == "I" and red == "c"):
        took = s.red == red and (red != "c" or label == "D" or fresh)
        yield SYS, f"run {n} takes it over", put(s._replace(red="t"), n, (label, fresh, "T")) if took else free
    elif label == "I" and red == "o" and s.fences:
        fenced = s._replace(red="f", fences=s.fences - 1)
        ok = s.red == "o" and not s.job
        yield SYS, f"run {n} fences it", put(fenced, n, (label, fresh, "F")) if ok else free
        yield SYS, f"run {n} leaves it alone", free
    else:
        yield SYS, f"run {n} has nothing to do", free


def opened(s: S) -> S:
    t = written(s, "I")
    return t._replace(red="o") if t.red == "t" else t


def deleted(s: S) -> S:
    wrong = "I4" if s.job else "held" if s.label == "B" else ""
    return s._replace(gone=True, wrong=wrong)


def check(hold: Hold = idle_only, rv: bool = True) -> Result:
    """`rv` False: runs write and delete whatever has become of the pod since they read it."""
    rules = {
        "I4": lambda s: s.wrong != "I4",
        "held": lambda s: s.wrong != "held",
        "killed": lambda s: not (s.job and s.red in "ch" and s.label != "I"),
    }

    def settled(s: S) -> bool:
        quiet = not any(s.runs) and not s.job
        return bool(s.wrong) or s.gone or (quiet and (s.red == "o" if s.label == "I" else s.red in "ch"))

    return explore(S(), partial(step, hold, rv), rules, settled)
