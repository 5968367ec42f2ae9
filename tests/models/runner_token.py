"""The tokens of a pool's runners are in a Secret, their passwords in Redis, and pods have them. Is a runner locked out?

Redis keeps no user over a restart, a person may delete the Secret, a run may be killed or wake up late, after a newer
one has had the pool. Shows: nobody is, if Redis is told in each run what both the Secret and the pods say; if a token
is in the Secret before Redis takes it and good in Redis before a pod gets it; if it stays in the Secret while a pod has
it, and is not forgotten by the run that makes the next; and if the Secret's version and a fence in Redis stop an older
run. A pod of an older run that is created late is shut out by its lease (`keep`). Not in it: that rotation waits for an
idle pool, which is for the sake of the pods; and a Redis that is emptied while an older run stands between its last
look at its lease and its word to Redis: it may then say what was true before, and the next run mends that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore

Tokens = frozenset[int]
NONE: Tokens = frozenset()


class Flags(NamedTuple):
    runs: int = 3
    losses: int = 1  # of the user in Redis, or of the Secret
    from_pods: bool = True  # what pods have is good, whatever the Secret says
    kept: bool = True  # a token that a pod has stays in the Secret
    adds: bool = True  # a run that makes a token forgets none
    good_first: bool = True  # a token is good in Redis before a pod gets it
    version: bool = True  # the Secret is written only as it was read
    fence: bool = True  # Redis refuses older runs


class Run(NamedTuple):
    number: int
    at: str = "begun"
    pods: Tokens = NONE
    secret: Tokens = NONE
    version: int = 0


class State(NamedTuple):
    secret: Tokens = NONE
    version: int = 0
    good: Tokens = NONE
    lost: bool = False  # the user; until a run has made it again
    deleted: bool = False  # the Secret; pods of then cannot start their containers again
    fence: int = 0
    made: int = 0  # tokens so far
    pods: Tokens = NONE
    runs: tuple[Run, ...] = ()
    begun: int = 0
    losses: int = 0


Step = tuple[str, str, State]


def check(flags: Flags) -> Result:
    rules = {
        "what a pod has is good": lambda s: s.lost or s.pods <= s.good,
        "containers can start again": lambda s: s.deleted or s.pods <= s.secret,
    }
    return explore(State(), lambda s: step(s, flags), rules, lambda _: True)


def step(s: State, flags: Flags) -> Iterator[Step]:
    if s.begun < flags.runs:  # the lease of one that runs may have ended: it stands still, and may wake up
        yield ENV, "begin", s._replace(begun=s.begun + 1, runs=(*s.runs[-1:], Run(s.begun + 1)))
    if s.losses < flags.losses:
        yield ENV, "lose user", s._replace(losses=s.losses + 1, good=NONE, lost=True)
        yield ENV, "delete Secret", s._replace(losses=s.losses + 1, secret=NONE, version=s.version + 1, deleted=True)
    for token in s.pods:
        yield ENV, f"pod of {token} ends", s._replace(pods=s.pods - {token})
    for at, run in enumerate(s.runs):
        late = run.number < s.begun
        for label, after, new in advance(s, run, late, flags):
            runs = (*s.runs[:at], new, *s.runs[at + 1 :])
            yield SYS, f"{run.number} {label}", after._replace(runs=runs)


def advance(s: State, run: Run, late: bool, flags: Flags) -> Iterator[tuple[str, State, Run]]:
    if run.at == "begun":
        yield "lists and reads", s, run._replace(at="read", pods=s.pods, secret=s.secret, version=s.version)
    elif run.at == "read":
        yield "tells Redis", *told(s, run, "verified", flags)
    elif run.at == "verified":
        yield from rotated(s, run, flags)
        if run.secret:
            yield "keeps", s, run._replace(at="good")
    elif run.at == "written":
        yield "tells Redis again", *told(s, run, "good", flags)
    elif run.at == "good":
        if not late:  # its lease outlasts the call
            yield "creates a pod", s._replace(pods=s.pods | {max(run.secret)}), run._replace(at="done")
        yield "ends", s, run._replace(at="done" if not late else "stopped")


def told(s: State, run: Run, then: str, flags: Flags) -> tuple[State, Run]:
    if flags.fence and run.number < s.fence:
        return s, run._replace(at="stopped")
    good = run.secret | (run.pods if flags.from_pods else NONE)
    return s._replace(good=good, lost=False, fence=max(s.fence, run.number)), run._replace(at=then)


def rotated(s: State, run: Run, flags: Flags) -> Iterator[tuple[str, State, Run]]:
    if flags.version and s.version != run.version:
        yield "meets a conflict", s, run._replace(at="stopped")
        return
    new, left = s.made + 1, run.secret & run.pods if flags.kept else NONE
    then = "written" if flags.good_first else "good"
    added = (run.secret if flags.adds else left) | {new}
    after = s._replace(secret=added, version=s.version + 1, made=new)
    yield f"rotates to {new}", after, run._replace(at=then, secret=added)
    if run.secret:
        less = left | {max(run.secret)}
        yield "forgets", s._replace(secret=less, version=s.version + 1), run._replace(at="written", secret=less)
