"""When is a claim Bound whose pod asks for ports, decided by the real `awaited_ports`, `gives_way` and `next_step`?

One claim, two pods. A pod gets its ports, loses them and gets them again, and may die once at any time; then the claim
takes the other one. A run reads claim and pod, and writes the status later, in the version of the claim that it read.
Its lease may end in between, and another run begins. A change of the claim's pod wakes the claim. Instead of the death
the pool may get a new template: pods that no claim has are replaced at once, and the claim's pod is old from then on.

Rules: portsfirst (the claim is never shown Bound to a pod that has never had its ports), staysbound (a claim that was
shown Bound to its pod is not shown waiting for that pod's ports), givesway (no claim is shown Bound to a pod that it
gives back). In the end the status shows the endpoints that the pod has, and no claim waits for the ports of an old pod.
`wakes` False: a change of the pod's ports wakes nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from domain.claims.address import PodAddress
from domain.claims.claim import Claim
from domain.claims.decision import Action, ClaimView, Step, next_step
from domain.claims.pod import Phase, PoolPod
from domain.claims.pod_request import PodTraits
from tests.models.explore import ENV, SYS, Result, explore

Decide = Callable[[Claim, ClaimView], Step]
GivesWay = Callable[[PoolPod, Mapping[str, Any]], bool]
Awaited = Callable[[Claim, PodAddress, Mapping[str, Any], str | None], str | None]
NOBODY = -1
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


class P(NamedTuple):
    """A pod. `ever`: it has had its ports; `mine`: it has the claim's label; `old`: of the template before."""

    alive: bool = True
    ports: bool = False
    ever: bool = False
    mine: bool = False
    old: bool = False


class Shown(NamedTuple):
    """The status of the claim."""

    bound: bool = False
    pod: int = NOBODY
    endpoints: bool = False


class W(NamedTuple):
    """A run that has read the claim with its pod and is about to write.

    `action` REST writes the status. `fresh`, `pod_fresh`: claim and pod have not changed since. `late`: another run has
    begun since, so that the run cannot record its write, and the event of the write wakes the claim (rule echo).
    """

    pod: int
    ports: bool
    shown: Shown
    action: str = "rest"
    fresh: bool = True
    pod_fresh: bool = True
    late: bool = False


class S(NamedTuple):
    pods: tuple[P, ...] = (P(), P())
    pod: int = NOBODY  # that the claim names
    shown: Shown = Shown()
    works: tuple[W, ...] = ()
    dirty: bool = True
    changes: int = 3
    deaths: int = 1
    templates: int = 0
    rolled: bool = False  # no pod dies: the claim's pod goes only if it is given back
    lateness: int = 1
    wrong: str = ""


Edge = tuple[str, str, S]


class Answers(NamedTuple):
    """What decides."""

    awaited: Awaited
    gives_way: GivesWay
    decide: Decide = next_step
    wakes: bool = True


def step(answers: Answers, s: S) -> Iterator[Edge]:
    if s.wrong:
        return
    yield from runs(answers, s)
    yield from pods(s, answers.wakes)
    if s.templates:
        renewed = tuple(pod._replace(old=True) if pod.mine else P() for pod in s.pods)
        yield ENV, "another template", s._replace(pods=renewed, templates=0, dirty=True)


def runs(answers: Answers, s: S) -> Iterator[Edge]:
    if s.dirty and not s.works and s.pod != NOBODY and not (s.pods[s.pod].alive and s.pods[s.pod].mine):
        yield SYS, "the claim names no pod", named(s, NOBODY)
    elif s.dirty and len(s.works) <= s.lateness and (not s.works or s.lateness):
        late = 1 if s.works else 0
        read = decided(answers, s)
        others = tuple(work._replace(late=True) for work in s.works)
        began = s._replace(works=(*others, read), dirty=False, lateness=s.lateness - late)
        yield (ENV if late else SYS), f"a run reads pod {s.pod}: {read.action} {read.pod}", began
    for n, work in enumerate(s.works):
        rest = s._replace(works=s.works[:n] + s.works[n + 1 :])
        on_pod = work.action in (Action.TAKE, Action.ADOPT, Action.GIVE_BACK)
        if not (work.pod_fresh if on_pod else work.fresh):
            yield SYS, "a late run conflicts", rest._replace(dirty=True)
        else:
            yield SYS, f"a run writes: {work.action} {work.pod}", acted(answers, rest, work)


def decided(answers: Answers, s: S) -> W:
    """A run that needs a pod takes the first free one."""
    pods = {n: pool_pod(n, pod) for n, pod in enumerate(s.pods) if pod.alive}
    mine, last = tuple(pod for pod in pods.values() if pod.claimed_by), status(s.shown)
    given_up = frozenset(pod.name for pod in mine if answers.gives_way(pod, last))
    view = ClaimView(mine, {pod.name: pod for pod in pods.values()}, outdated=given_up)
    todo = answers.decide(Claim("c", pod=None if s.pod == NOBODY else f"p{s.pod}"), view)
    free = next((n for n, pod in pods.items() if not pod.claimed_by and not s.pods[n].old), NOBODY)
    n = int(todo.pod[1:]) if todo.pod else free if todo.action is Action.TAKE else s.pod
    if n == NOBODY:
        return W(n, ports=False, shown=s.shown)
    return W(n, s.pods[n].ports, s.shown, str(todo.action))


def pool_pod(n: int, pod: P) -> PoolPod:
    return PoolPod(
        f"p{n}",
        f"u{n}",
        PodTraits("w", {}),
        "old" if pod.old else "new",
        Phase.BOUND if pod.mine else Phase.IDLE,
        LONG_AGO,
        claimed_by="c" if pod.mine else None,
        lacks_ports=not pod.ports,
    )


def status(shown: Shown) -> dict[str, Any]:
    last: dict[str, Any] = {"phase": "Bound" if shown.bound else "Pending"}
    return last | ({} if shown.pod == NOBODY else {"podName": f"p{shown.pod}"})


def acted(answers: Answers, s: S, work: W) -> S:
    match work.action:
        case Action.TAKE | Action.ADOPT:
            taken = put(s, work.pod, s.pods[work.pod]._replace(mine=True))
            return named(taken, work.pod) if work.fresh else taken._replace(dirty=True)
        case Action.CLEAR:
            return named(s, NOBODY)
        case Action.GIVE_BACK:
            under = s.shown == (True, work.pod, s.shown.endpoints) and s.pod == work.pod
            given = put(s, work.pod, s.pods[work.pod]._replace(mine=False, alive=False, ports=False))
            return given._replace(wrong="givesway" if under else "", dirty=True)
        case _:
            return written(answers.awaited, s, work)


def named(s: S, pod: int) -> S:
    return s._replace(pod=pod, works=stale(s.works), dirty=True)


def stale(works: tuple[W, ...]) -> tuple[W, ...]:
    return tuple(work._replace(fresh=False) for work in works)


def written(awaited: Awaited, s: S, work: W) -> S:
    address = PodAddress(asks=True, missing=None if work.ports or work.pod == NOBODY else "not yet")
    claim = Claim("c", pod=f"p{work.pod}")
    waits = awaited(claim, address, status(work.shown), None) is not None or work.pod == NOBODY
    shown = Shown(not waits, work.pod, work.ports and not waits)
    if shown == s.shown:
        return s
    if shown.bound and not s.pods[work.pod].ever:
        return s._replace(wrong="portsfirst")
    if s.shown.bound and s.shown.pod == work.pod and not shown.bound:
        return s._replace(wrong="staysbound")
    if shown.bound and s.rolled and not s.pods[work.pod].mine:
        return s._replace(wrong="givesway")
    return s._replace(shown=shown, works=stale(s.works), dirty=s.dirty or work.late)


def pods(s: S, wakes: bool) -> Iterator[Edge]:
    for n, pod in enumerate(s.pods):
        if not pod.alive:
            continue
        if s.changes:
            changed = put(s, n, pod._replace(ports=not pod.ports, ever=True))
            words = f"pod {n} {'loses its ports' if pod.ports else 'has its ports'}"
            yield ENV, words, changed._replace(changes=s.changes - 1, dirty=s.dirty or (pod.mine and wakes))
        if s.deaths:
            dead = put(s, n, pod._replace(alive=False, ports=False, mine=False))
            yield ENV, f"pod {n} dies", dead._replace(deaths=0, dirty=s.dirty or pod.mine)


def put(s: S, n: int, pod: P) -> S:
    works = tuple(work._replace(pod_fresh=work.pod_fresh and work.pod != n) for work in s.works)
    return s._replace(pods=(*s.pods[:n], pod, *s.pods[n + 1 :]), works=works)


def settled(s: S) -> bool:
    """A wait for ports that never come is settled, too, but not on an old pod."""
    if s.wrong or s.pod == NOBODY:
        return bool(s.wrong)
    pod = s.pods[s.pod]
    return s.shown.pod == s.pod and s.shown.endpoints == pod.ports and (s.shown.bound or not pod.old)


def check(answers: Answers, *, rolls: bool = False) -> Result:
    """`rolls`: the pool gets a new template, and no pod dies."""
    rules = {name: (lambda s, name=name: s.wrong != name) for name in ("portsfirst", "staysbound", "givesway")}
    first = S(deaths=0, templates=1, rolled=True) if rolls else S()
    return explore(first, lambda s: step(answers, s), rules, settled)
