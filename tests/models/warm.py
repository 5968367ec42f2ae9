"""The size of a pool of warm pods: as many as claims and warm pods need, by `decide` and `size_after_claims`.

One pool without jobs. A run sees everything at one moment and sets `size`; what is missing of `size` and of the claims
that wait is created, what is too much is removed. Claims come, take a free pod or wait; pods become ready; a claim ends
and its pod comes back, which raises `size`, or is replaced. A warm pod may stop to be ready (`flips` in a run): it is
ready again later, or is retired. Cooldowns are over at once.

Rules: most (never more pods than the maximum), over (no pod is created while the warm ones and those that boot are
enough for `maxIdle` and every claim that waits), churn (no warm pod of those that are kept goes). Ends settled: every
claim has a pod or the pool is full, and as many warm pods as wished, as far as the maximum goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

from domain.pod_pools.decision import decide, size_after_claims
from domain.pod_pools.signals import PodTotals, PoolSignals, ScalingPolicy
from tests.models.explore import ENV, SYS, Result, explore

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class S(NamedTuple):
    """`left`: claims still to come; `ends`: of those that may end."""

    size: int = 0
    boot: int = 0
    free: int = 0
    taken: int = 0
    waiting: int = 0
    drain: int = 0
    left: int = 4
    ends: int = 2
    away: int = 0
    flips: int = 0
    wrong: str = ""


def policy(most: int, idle: int) -> ScalingPolicy:
    return ScalingPolicy((), max_pods=most, max_idle=idle, down_cooldown=timedelta(0))


def run(s: S, rules: ScalingPolicy, additive: bool, capable: bool) -> S:
    """One run of the pool. `capable` False: a pod that is not ready counts as a warm one."""
    there = s.boot + s.free + s.away
    warm, away = (s.free, s.away) if capable else (s.free + s.away, 0)
    pods = PodTotals(warm, s.boot, s.taken + s.drain, free=warm, away=away, stalled=away)
    what = PoolSignals(pods, claims=s.waiting)
    size = size_after_claims(what, rules, s.size, there) if additive else s.size
    claims = s.waiting if additive else 0
    missing = max(0, min(size + claims, rules.max_pods - s.taken - s.drain) - there)
    what = PoolSignals(replace(pods, missing=missing), claims=s.waiting)
    size = max(0, min(rules.max_pods, size + decide(what, rules, NOW).change))
    wanted = max(0, min(size + claims, rules.max_pods - s.taken - s.drain))
    create = max(0, min(wanted - there, rules.max_pods - there - s.taken - s.drain))
    remove = 0 if s.waiting else max(0, min(there - wanted, s.free + s.away))
    retired = min(remove, s.away) if capable else 0
    remove = min(remove, s.free + retired)
    wrong = "over" if create and s.boot + s.free + create > rules.max_idle + s.waiting else ""
    left = s.free - (remove - retired)
    if left < min(s.free, rules.max_idle):
        wrong = "churn"
    return s._replace(size=size, boot=s.boot + create, free=left, away=s.away - retired, wrong=wrong)


def steps(rules: ScalingPolicy, additive: bool, capable: bool, s: S) -> Iterator[tuple[str, str, S]]:
    if s.wrong:
        return
    yield SYS, "the pool runs", run(s, rules, additive, capable)
    if s.boot:
        yield SYS, "a pod is ready", s._replace(boot=s.boot - 1, free=s.free + 1)
    if s.waiting and s.free:
        yield SYS, "a waiting claim takes a pod", s._replace(waiting=s.waiting - 1, free=s.free - 1, taken=s.taken + 1)
    if s.drain:
        yield SYS, "a pod comes back", s._replace(drain=s.drain - 1, free=s.free + 1, size=s.size + 1)
        yield SYS, "a pod is replaced", s._replace(drain=s.drain - 1)
    yield from readiness(s)
    if s.left:
        if s.free:
            yield ENV, "a claim comes", s._replace(left=s.left - 1, free=s.free - 1, taken=s.taken + 1)
        else:
            yield ENV, "a claim comes, and waits", s._replace(left=s.left - 1, waiting=s.waiting + 1)
    if s.taken and s.ends:
        yield ENV, "a claim ends", s._replace(ends=s.ends - 1, taken=s.taken - 1, drain=s.drain + 1)


def readiness(s: S) -> Iterator[tuple[str, str, S]]:
    if s.flips and s.free:
        yield ENV, "a warm pod is not ready", s._replace(flips=s.flips - 1, free=s.free - 1, away=s.away + 1)
    if s.away:
        yield SYS, "it is ready again", s._replace(free=s.free + 1, away=s.away - 1)
        yield SYS, "it is retired", s._replace(away=s.away - 1)


def settled(rules: ScalingPolicy, s: S) -> bool:
    full = s.taken >= rules.max_pods
    warm = s.free == min(rules.max_idle, rules.max_pods - s.taken)
    return bool(s.wrong) or (s.boot == s.drain == s.away == 0 and (full or not s.waiting) and warm)


def check(most: int, idle: int, additive: bool = True, flips: int = 0, capable: bool = True) -> Result:
    rules = policy(most, idle)
    kinds = {
        "most": lambda s: s.boot + s.free + s.away + s.taken + s.drain <= most,
        "over": lambda s: s.wrong != "over",
        "churn": lambda s: s.wrong != "churn",
    }
    return explore(S(flips=flips), partial(steps, rules, additive, capable), kinds, partial(settled, rules))
