"""A pod that is given back drains, its workload reports sessions, and it becomes idle for the next claim.

One pod that is bound `rounds` times, at most one session at a time. Sessions may begin until no load balancer leads to
the pod any more, which minDrain covers. A report of sessions may arrive at any later time, also in the next round, and
twice. Two workers decide that the pod is idle from what they read, and write later.

Shows: no pod with a live session and no pod that a claim holds becomes idle; and in the end the pod is idle. Bounds:
rounds, reports that arrive twice. A flag that is False is a rule taken away.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore

CLAIMED, LIVE = "a claimed pod becomes idle", "a pod with a live session becomes idle"


class Flags(NamedTuple):
    rounds: int = 3
    doubled: int = 1
    ask: bool = True  # a report counts only for the drain whose id it names
    settle: bool = True  # the id is published once minDrain is over
    rv: bool = True  # the write carries the version that the decision was made from


class Report(NamedTuple):
    sessions: int
    drain: int  # the id that it names, 0 = none


class S(NamedTuple):
    doubled: int
    phase: str = "idle"  # idle | bound | draining
    round: int = 0  # also the id of the drain
    session: bool = False
    closed: bool = False  # no session can begin
    asked: bool = False  # the id is published
    report: Report | None = None  # as annotated
    coming: frozenset[Report] = frozenset()
    deciders: tuple[str, str] = ("", "")  # fresh | stale: decided that it is idle, not written yet
    bad: str = ""


Edge = tuple[str, str, S]


def written(s: S) -> S:
    one, two = ("stale" if decided else "" for decided in s.deciders)
    return s._replace(deciders=(one, two))


def decider(s: S, at: int, decided: str) -> S:
    return s._replace(deciders=(decided, s.deciders[1]) if at == 0 else (s.deciders[0], decided))


class Model:
    def __init__(self, flags: Flags) -> None:
        self.flags = flags

    def step(self, s: S) -> Iterator[Edge]:
        if s.phase == "idle" and s.round < self.flags.rounds:
            bound = written(s)._replace(phase="bound", round=s.round + 1, closed=False, asked=False)
            yield ENV, f"bound, round {bound.round}", bound
        if s.phase == "bound":
            yield SYS, "given back", written(s)._replace(phase="draining", asked=not self.flags.settle)
        if s.phase != "idle" and not s.session and not s.closed:
            yield ENV, "a session begins", s._replace(session=True)
        if s.session:
            yield SYS, "the session ends", s._replace(session=False)
        if s.phase == "draining":
            yield from self.drains(s)
        yield from self.reports(s)
        for at, decided in enumerate(s.deciders):
            if decided:
                yield SYS, f"worker {at} writes idle", self.write(s, at, decided)

    def drains(self, s: S) -> Iterator[Edge]:
        if not s.closed:
            yield SYS, "minDrain is over", s._replace(closed=True)
        if s.closed and not s.asked:
            yield SYS, f"the id {s.round} is published", written(s)._replace(asked=True)
        report = Report(int(s.session), s.round if s.asked else 0)
        if report not in s.coming and s.report != report:
            yield SYS, f"the workload reports {report}", s._replace(coming=s.coming | {report})
        counts = s.report is not None and s.report.sessions == 0
        if s.closed and counts and s.report and (s.report.drain == s.round or not self.flags.ask):
            for at in (0, 1):
                if not s.deciders[at] and (at == 1 or s.deciders == ("", "")):
                    yield SYS, f"worker {at} decides that it is idle", decider(s, at, "fresh")

    def reports(self, s: S) -> Iterator[Edge]:
        for report in s.coming:
            arrived = written(s)._replace(report=report)
            yield SYS, f"{report} arrives", arrived._replace(coming=s.coming - {report})
            if s.doubled:
                yield ENV, f"{report} arrives, and will again", arrived._replace(doubled=s.doubled - 1)

    def write(self, s: S, at: int, decided: str) -> S:
        gone = decider(s, at, "")
        if self.flags.rv and decided == "stale":
            return gone
        if s.phase == "bound" or s.session:
            return gone._replace(bad=CLAIMED if s.phase == "bound" else LIVE)
        return written(gone)._replace(phase="idle")


def check(flags: Flags) -> Result:
    rules = {CLAIMED: lambda s: s.bad != CLAIMED, LIVE: lambda s: s.bad != LIVE}
    return explore(S(flags.doubled), Model(flags).step, rules, lambda s: s.phase == "idle" and s.deciders == ("", ""))
