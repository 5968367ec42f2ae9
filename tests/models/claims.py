"""Claims on warm pods, decided by the real `next_step`: no two claims name one pod, and every claim ends with one.

Two claims, two or three pods, two workers. A worker reads, decides, and writes later: every write carries the version
that it read (here: fresh, until somebody writes that object). It may die between two writes, or lose its lease and go
on. A pod dies or its node is lost and comes back; users delete a claim, make it again, or move one to a pod, be it of
another. Claim A may have a ttl: time passes, its owner renews it, a worker records that, or deletes the claim that it
saw expired.

Rules: I2 (no two settled claims name one pod), under (no pod is drained under the claim that lives on it), dirty (no
pod that another claim used is handed out before it has drained), renewed (no claim is deleted after its owner renewed
it). Bounds: faults, moves, expiries and renewals as given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TypeVar

from domain.claims.claim import Claim
from domain.claims.decision import Action, ClaimView, Step
from domain.claims.pod import Phase, PoolPod
from domain.claims.pod_request import PodTraits
from tests.models.claims_states import GONE, LIVE, LOST, C, P, S, W
from tests.models.explore import ENV, SYS, Result, explore

PHASES = {"I": Phase.IDLE, "B": Phase.BOUND, "D": Phase.DRAINING, "T": Phase.TERMINATING}
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
NOWHERE = 9  # names a pod that is gone
Decide = Callable[[Claim, ClaimView], Step]
X = TypeVar("X")
Out = Iterator[tuple[str, str, "S"]]


THEN = {Action.TAKE: "name", Action.ADOPT: "name", Action.TAKE_TARGET: "record", Action.MARK: "record"}
ON_POD = frozenset({*THEN, Action.GIVE_BACK, Action.DISCARD})


def put(some: tuple[X, ...], n: int, one: X) -> tuple[X, ...]:
    return (*some[:n], one, *some[n + 1 :])


def write_pod(s: S, i: int, pod: P) -> S:
    pods = put(s.pods, i, pod)
    return s._replace(pods=pods, work=tuple(w and w._replace(pod_fresh=w.pod_fresh and w.i != i) for w in s.work))


def write_claim(s: S, c: int, claim: C) -> S:
    claims = put(s.claims, c, claim)
    return s._replace(
        claims=claims, work=tuple(w and w._replace(claim_fresh=w.claim_fresh and w.c != c) for w in s.work)
    )


def at(s: S, n: int, work: W | None) -> S:
    """Workers are alike."""
    others = put(s.work, n, work)
    return s._replace(work=tuple(sorted(others, key=lambda w: (w is not None, w or ()))))


def seen(s: S, n: int) -> tuple[Claim, ClaimView]:
    pods = [_pod(i, p) for i, p in enumerate(s.pods) if p.ex != GONE]
    claim = s.claims[n]
    mine = tuple(p for p in pods if p.claimed_by == claim.uid)
    pod, source = (None if name is None else f"p{name}" for name in (claim.pod, claim.src))
    told = Claim(claim.uid, pod=pod, source=source, marked=claim.marked, deleting=claim.life == 1)
    return told, ClaimView(mine, {p.name: p for p in pods}, renewed=claim.renewed, expired=claim.expired)


def _pod(i: int, p: P) -> PoolPod:
    alive = p.ex == LIVE
    return PoolPod(
        f"p{i}",
        f"u{i}",
        PodTraits("w", {}),
        "r",
        PHASES[p.phase],
        LONG_AGO,
        claimed_by=p.by or None,
        alive=alive,
        normal=alive,
    )


class Model:
    def __init__(self, decide: Decide, conditional: bool) -> None:
        self._decide, self._conditional = decide, conditional

    def step(self, s: S) -> Out:
        if s.wrong:
            return
        for n, w in enumerate(s.work):
            if w:
                yield from self.act(s, n, w)
        if None in s.work:
            yield from self.load(s, s.work.index(None))
        yield from pods(s)
        yield from users(s)
        yield from times(s)

    def load(self, s: S, n: int) -> Out:
        for c, claim in enumerate(s.claims):
            if not claim.life or any(w and w.c == c and not w.late for w in s.work):
                continue
            step = self._decide(*seen(s, c))
            if step.action in (Action.REST, Action.WAIT):
                continue
            named = {x for o in s.claims if o.life and o is not claim for x in (o.pod, o.src)}
            free = [i for i, p in enumerate(s.pods) if p[:3] == (LIVE, "I", "") and i not in named]
            targets = [int(step.pod[1:])] if step.pod else free if step.action is Action.TAKE else [NOWHERE]
            for i in targets:
                yield (
                    SYS,
                    f"a worker reads {claim.uid}: {step.action} {i}",
                    at(s, n, W(c, claim.uid, str(step.action), i)),
                )

    def act(self, s: S, n: int, w: W) -> Out:
        free, who = at(s, n, None), f"{'old ' * w.late}worker of {w.uid}: {w.action} {w.i}"
        if s.faults:
            yield ENV, f"{who}: dies", free._replace(faults=s.faults - 1)
            if not w.late:
                yield ENV, f"{who}: its lease ends", at(s._replace(faults=s.faults - 1), n, w._replace(late=True))
        fresh = w.pod_fresh if w.action in ON_POD else w.claim_fresh
        if not (fresh or (w.action == Action.EXPIRE and s.claims[w.c].uid == w.uid and not self._conditional)):
            yield SYS, f"{who}: conflict", free
        elif w.action in ON_POD:
            yield SYS, who, on_pod(s, free, n, w)
        else:
            yield SYS, who, on_claim(free, w)


def on_pod(s: S, free: S, n: int, w: W) -> S:
    pod, claim = s.pods[w.i], s.claims[w.c]
    if w.action in (Action.GIVE_BACK, Action.DISCARD):
        home = claim.pod if claim.src is None or claim.marked else claim.src
        lives = claim.life == 2 and claim.uid == w.uid and home == w.i and pod.by == w.uid and pod.ex == LIVE
        if lives and pod.phase == "B":
            return free._replace(wrong="under")
        phase = "D" if w.action == Action.GIVE_BACK else "T"
        return write_pod(free, w.i, pod._replace(phase=phase, by=""))
    if w.action in (Action.TAKE, Action.TAKE_TARGET):
        pod = pod._replace(phase="B", by=w.uid)
    going_on = W(w.c, w.uid, THEN[Action(w.action)], w.i, claim_fresh=w.claim_fresh, late=w.late)
    t = write_pod(s._replace(work=(*(x for k, x in enumerate(s.work) if k != n), None)), w.i, pod)
    return at(t, t.work.index(None), going_on)


def on_claim(s: S, w: W) -> S:
    claim = s.claims[w.c]
    if w.action == "name":
        pod = s.pods[w.i] if w.i != NOWHERE else P(GONE)
        if pod.by == w.uid and pod.used not in ("", w.uid):
            return s._replace(wrong="dirty")
        t = write_claim(s, w.c, claim._replace(pod=w.i, src=None, marked=False))
        return write_pod_quietly(t, w.i, pod._replace(used=w.uid)) if pod.by == w.uid else t
    if w.action == "record":
        return write_claim(s, w.c, claim._replace(marked=True))
    if w.action in (Action.RENEW, Action.EXPIRE):
        return renew_or_expire(s, w.c, claim, w.action)
    if w.action == Action.COMPLETE:
        t = write_claim(s, w.c, claim._replace(src=None, marked=False))
        there = claim.pod is not None and claim.pod != NOWHERE
        return write_pod_quietly(t, claim.pod, s.pods[claim.pod]._replace(used=w.uid)) if there else t  # type: ignore[arg-type, index]  # there
    gone = claim._replace(life=0 if w.action == Action.FINISH else claim.life, pod=None, src=None, marked=False)
    return write_claim(s, w.c, gone)


def renew_or_expire(s: S, c: int, claim: C, action: str) -> S:
    if action == Action.RENEW:
        return write_claim(s, c, claim._replace(expired=False, renewed=False))
    lives = claim.life == 2 and (claim.renewed or not claim.expired)
    return s._replace(wrong="renewed") if lives else write_claim(s, c, claim._replace(life=min(claim.life, 1)))


def write_pod_quietly(s: S, i: int, pod: P) -> S:
    """`used` is what the model knows of a pod: nothing is written in Kubernetes."""
    return s._replace(pods=put(s.pods, i, pod))


def replaced(s: S, i: int, pod: P) -> S:
    """Another pod of another name: who named the old one names none of this world."""
    s = write_pod(s, i, pod)
    gone = {i: NOWHERE}
    claims = tuple(c._replace(pod=gone.get(c.pod, c.pod), src=gone.get(c.src, c.src)) for c in s.claims)  # type: ignore[arg-type]  # None is no key
    work = tuple(w and (w._replace(i=NOWHERE) if w.i == i and w.action in ("name", "record") else w) for w in s.work)
    return s._replace(claims=claims, work=work)


def pods(s: S) -> Out:
    uids = {c.uid for c in s.claims if c.life}
    for i, p in enumerate(s.pods):
        if s.faults and p.ex == LIVE:
            hurt = s._replace(faults=s.faults - 1)
            yield ENV, f"pod {i} dies", replaced(hurt, i, P(GONE))
            yield ENV, f"the node of pod {i} is lost", write_pod(hurt, i, p._replace(ex=LOST))
        if p.ex == LOST:
            yield ENV, f"the node of pod {i} is back", write_pod(s, i, p._replace(ex=LIVE))
        if p.ex == GONE or (not p.by and (p.ex == LOST or p.phase == "T")):
            yield SYS, f"a new pod comes in place of {i}", replaced(s, i, P())
        elif p.by and p.by not in uids:
            yield SYS, f"nobody is {p.by}: pod {i} is given back", write_pod(s, i, p._replace(phase="D", by=""))
        elif p.phase == "D" and p.ex == LIVE:
            yield SYS, f"pod {i} has drained", write_pod(s, i, P())


def times(s: S) -> Out:
    first = s.claims[0]
    if first.life == 2 and s.expiries and not first.expired:  # no write: a worker knows it by the clock
        claims = put(s.claims, 0, first._replace(expired=True))
        yield ENV, "the ttl of claim A passes", s._replace(claims=claims, expiries=s.expiries - 1)
    if first.life == 2 and s.renewals:
        renewed = s._replace(renewals=s.renewals - 1)
        yield ENV, "claim A is renewed", write_claim(renewed, 0, first._replace(renewed=True))


def users(s: S) -> Out:
    first = s.claims[0]
    if first.uid == "A1" and first.life == 2:
        yield ENV, "claim A is deleted", write_claim(s, 0, first._replace(life=1))
        if s.faults:
            yield ENV, "claim A is removed by force", write_claim(s._replace(faults=s.faults - 1), 0, C("A1", 0))
    if first.life == 0 and first.uid == "A1":
        yield ENV, "claim A is made again", write_claim(s, 0, C("A2"))
    for c, claim in enumerate(s.claims):
        settled = claim.life == 2 and claim.src is None and claim.pod not in (None, NOWHERE)
        if settled and s.moves[c]:
            left = tuple(m - (k == c) for k, m in enumerate(s.moves))
            for i in range(len(s.pods)):
                if i != claim.pod:
                    moved = claim._replace(pod=i, src=claim.pod, marked=False)
                    yield ENV, f"{claim.uid} is to move to {i}", write_claim(s, c, moved)._replace(moves=left)


def one_owner(s: S) -> bool:
    settled = [c.pod for c in s.claims if c.life == 2 and c.src is None and c.pod not in (None, NOWHERE)]
    return len(settled) == len(set(settled))


def settled(s: S) -> bool:
    live = [c for c in s.claims if c.life]
    held = {c.pod: c.uid for c in live}
    timely = not any(c.expired or c.renewed for c in live)
    quiet = timely and all(c.life == 2 and c.src is None for c in live) and s.work == (None, None)
    return quiet and all(p.ex == LIVE and p.phase in "IB" and p.by == held.get(i, "") for i, p in enumerate(s.pods))


def check(
    decide: Decide,
    count: int,
    faults: int,
    moves: tuple[int, int] = (0, 0),
    bound: bool = False,
    times: tuple[int, int] = (0, 0),
    conditional: bool = True,
) -> Result:
    """`bound`: claim A begins on pod 0 and B on pod 1. `times`: how often A expires and is renewed. `conditional`: the
    deletion of an expired claim has the version that was read as its precondition.
    """
    first = S(tuple(P() for _ in range(count)), faults=faults, moves=moves, expiries=times[0], renewals=times[1])
    if bound:
        on = (P(LIVE, "B", "A1", "A1"), P(LIVE, "B", "B1", "B1"))
        first = first._replace(pods=on + first.pods[2:], claims=(C("A1", pod=0), C("B1", pod=1)))
    rules = {
        "I2": one_owner,
        "under": lambda s: s.wrong != "under",
        "dirty": lambda s: s.wrong != "dirty",
        "renewed": lambda s: s.wrong != "renewed",
    }
    return explore(first, Model(decide, conditional).step, rules, lambda s: bool(s.wrong) or settled(s))
