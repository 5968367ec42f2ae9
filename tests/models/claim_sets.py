"""Sets of claims, decided by the real `set_step`: scale-out, scale-in and rolling by two workers, one of them late.

A worker reads the set, then lists its claims, decides, and writes later. Writes of the set's status carry the version
of the read; a claim is deleted, or spared, only in the version that was seen; a claim is created by name. It may die
between any two writes, or lose its lease and go on. Users scale, change the template, move a claim and delete one; a
claim may lose its pod.

Rules: fewer (a removal leaves as many claims as were wanted at some time since it was recorded), moving (no claim that
moves is removed), surge (a worker that is not late makes at most one more than it saw wanted). `lists_first`: the list
of claims is older than the read of the set, as one that lags is. Bounds: faults, edits, moves and deletions as given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from domain.claim_sets.decision import SetAction, SetStep, SetView
from domain.claim_sets.scale_in import SetMember
from domain.claims.claim import ClaimPhase
from tests.models.explore import ENV, SYS, Result, explore

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = 8
Decide = Callable[[SetView], SetStep]
Out = Iterator[tuple[str, str, "S"]]


class C(NamedTuple):
    """A claim. `made` from which template; `pod`: it has a ready one."""

    made: int = 0
    pod: bool = True
    moves: bool = False
    deleting: bool = False


Claims = tuple[C | None, ...]


class Facts(NamedTuple):
    """What the set's object says. `alive`: recorded claims that are in the recorded version still."""

    wanted: int
    template: int = 0
    alive: frozenset[int] = frozenset()


class W(NamedTuple):
    """A worker: between its reads, or about to do `do` to `todo`. `fresh`: those that nobody wrote since it looked."""

    do: str
    todo: tuple[int, ...] = ()
    fresh: frozenset[int] = frozenset()
    set_fresh: bool = True
    late: bool = False
    facts: Facts = Facts(0)
    listed: Claims = ()


class S(NamedTuple):
    facts: Facts
    claims: Claims
    work: tuple[W | None, ...] = (None, None)
    wants: tuple[int, ...] = ()
    templates: int = 0
    moves: int = 0
    hands: int = 0
    faults: int = 1
    floor: int = 0
    late_made: int = 0
    wrong: str = ""


def at(s: S, n: int, work: W | None) -> S:
    """Workers are alike."""
    others = (*s.work[:n], work, *s.work[n + 1 :])
    return s._replace(work=tuple(sorted(others, key=_order)))


def _order(w: W | None) -> tuple[bool, str]:
    return w is not None, repr(w)


def write_claim(s: S, i: int, claim: C | None) -> S:
    """A new version, or none: a record of it is dead."""
    work = tuple(w and w._replace(fresh=w.fresh - {i}, facts=_dead(w.facts, i)) for w in s.work)
    return s._replace(claims=(*s.claims[:i], claim, *s.claims[i + 1 :]), work=work, facts=_dead(s.facts, i))


def _dead(facts: Facts, i: int) -> Facts:
    return facts._replace(alive=facts.alive - {i})


def write_set(s: S, facts: Facts) -> S:
    return s._replace(facts=facts, work=tuple(w and w._replace(set_fresh=False) for w in s.work))


def live(claims: Claims) -> list[int]:
    return [i for i, claim in enumerate(claims) if claim and not claim.deleting]


def view(facts: Facts, claims: Claims) -> SetView:
    members = tuple(_member(facts, i, claim) for i, claim in enumerate(claims) if claim)
    return SetView("s", facts.wanted, members, {f"s-{i}": "1" for i in facts.alive})


def _member(facts: Facts, i: int, claim: C) -> SetMember:
    phase = ClaimPhase.BOUND if claim.pod else ClaimPhase.PENDING
    return SetMember(
        f"s-{i}",
        phase,
        LONG_AGO,
        has_pod=claim.pod,
        moves=claim.moves,
        deleting=claim.deleting,
        ready=claim.pod,
        current=claim.made == facts.template,
        version="1",
    )


class Model:
    def __init__(self, decide: Decide, **rules: bool) -> None:
        known = {"versions": True, "record": True, "compares": True, "lists_first": False} | rules
        self._decide, self._versions, self._record = decide, known["versions"], known["record"]
        self._compares, self._lists_first = known["compares"], known["lists_first"]

    def step(self, s: S) -> Out:
        if s.wrong:
            return
        for n, w in enumerate(s.work):
            if w:
                yield from self.act(s, n, w)
        if None in s.work and not any(w and not w.late for w in s.work):
            yield from self.begin(s, s.work.index(None))
        yield from claims_go_on(s)
        yield from users(s)

    def decided(self, facts: Facts, claims: Claims) -> W:
        step = self._decide(view(facts, claims))
        todo = tuple(int(name[2:]) for name in step.names)
        do = SetAction.REMOVE if step.action is SetAction.RECORD and not self._record else step.action
        return W(str(do), todo, frozenset(todo), facts=facts if do is SetAction.CREATE else Facts(facts.wanted))

    def begin(self, s: S, n: int) -> Out:
        if self.decided(s.facts, s.claims).do == SetAction.REST:
            return
        first = (
            W("reads", listed=s.claims, fresh=frozenset(range(NAMES)))
            if self._lists_first
            else W("lists", facts=s.facts)
        )
        yield SYS, "a worker begins to look", at(s, n, first)

    def act(self, s: S, n: int, w: W) -> Out:
        who = f"{'late ' * w.late}worker: {w.do} {w.todo}"
        if s.faults:
            yield ENV, f"{who}: dies", at(s._replace(faults=s.faults - 1), n, None)
            if not w.late:
                yield ENV, f"{who}: its lease ends", at(s._replace(faults=s.faults - 1), n, w._replace(late=True))
        if w.do in ("lists", "reads"):
            step = self.looked(s, w)
            yield SYS, f"{who} {step.do} {step.todo}", at(s, n, None if step.do == SetAction.REST else step)
        elif w.do == SetAction.RECORD:
            done = w.set_fresh or not self._compares
            yield SYS, f"{who}: {'done' if done else 'conflict'}", record(s, n, w) if done else at(s, n, None)
        else:
            yield SYS, who, self.one(s, n, w)

    def looked(self, s: S, w: W) -> W:
        if w.do == "lists":
            return self.decided(w.facts, s.claims)._replace(set_fresh=w.set_fresh, late=w.late)
        step = self.decided(s.facts._replace(alive=s.facts.alive & w.fresh), w.listed)
        return step._replace(fresh=step.fresh & w.fresh, late=w.late)

    def one(self, s: S, n: int, w: W) -> S:
        """The first of its calls; a refusal ends the step."""
        i, rest = w.todo[0], w.todo[1:]
        going = at(s, n, w._replace(todo=rest) if rest else None)
        claim = s.claims[i]
        if w.do == SetAction.CREATE:
            return at(s, n, None) if claim else create(going, i, w)
        if not claim or claim.deleting or (self._versions and i not in w.fresh):
            return at(s, n, None)
        if w.do == SetAction.SPARE:
            return write_claim(going, i, claim)
        if claim.moves or len(live(s.claims)) - 1 < s.floor:
            return s._replace(wrong="moving" if claim.moves else "fewer")
        return write_claim(going, i, claim._replace(deleting=True))


def record(s: S, n: int, w: W) -> S:
    return write_set(at(s, n, None), s.facts._replace(alive=w.fresh))._replace(floor=s.facts.wanted)


def create(s: S, i: int, w: W) -> S:
    made = write_claim(s, i, C(w.facts.template, pod=False))._replace(late_made=s.late_made + w.late)
    too_many = not w.late and len(live(made.claims)) > w.facts.wanted + 1 + made.late_made
    return made._replace(wrong="surge") if too_many else made


def claims_go_on(s: S) -> Out:
    for i, claim in enumerate(s.claims):
        if claim and claim.deleting:
            yield SYS, f"claim {i} is gone", write_claim(s, i, None)
        elif claim and not claim.pod:
            yield SYS, f"claim {i} has a pod", write_claim(s, i, claim._replace(pod=True))
        elif claim and claim.moves:
            yield SYS, f"claim {i} has moved", write_claim(s, i, claim._replace(moves=False))


def users(s: S) -> Out:
    if s.wants:
        facts, floor = s.facts._replace(wanted=s.wants[0]), min(s.floor, s.wants[0])
        yield ENV, f"scaled to {s.wants[0]}", write_set(s._replace(wants=s.wants[1:], floor=floor), facts)
    if s.templates:
        facts = s.facts._replace(template=s.facts.template + 1)
        yield ENV, "another template", write_set(s._replace(templates=s.templates - 1), facts)
    for i in live(s.claims):
        claim = s.claims[i]
        if s.hands:
            fewer = s._replace(hands=s.hands - 1, floor=s.floor - 1)
            yield ENV, f"claim {i} is deleted by hand", write_claim(fewer, i, claim and claim._replace(deleting=True))
        if s.moves and claim and claim.pod and not claim.moves:
            yield (
                ENV,
                f"claim {i} is to move",
                write_claim(s._replace(moves=s.moves - 1), i, claim._replace(moves=True)),
            )
        if s.faults and claim and claim.pod and not claim.moves:
            yield (
                ENV,
                f"claim {i} loses its pod",
                write_claim(s._replace(faults=s.faults - 1), i, claim._replace(pod=False)),
            )


def settled(s: S) -> bool:
    claims = [claim for claim in s.claims if claim]
    serve = all(c == C(s.facts.template) for c in claims)
    return serve and len(claims) == s.facts.wanted and not s.facts.alive and s.work == (None, None)


def check(decide: Decide, first: S, **rules: bool) -> Result:
    """`rules`: of Model."""
    broken = {name: (lambda s, name=name: s.wrong != name) for name in ("fewer", "moving", "surge")}
    return explore(first, Model(decide, **rules).step, broken, lambda s: bool(s.wrong) or settled(s))


def world(count: int, wanted: int | None = None, **bounds: Any) -> S:
    """So many claims, bound, of template 0."""
    claims = (*(C() for _ in range(count)), *(None for _ in range(NAMES - count)))
    facts = Facts(count if wanted is None else wanted)
    return S(facts, claims)._replace(**bounds)
