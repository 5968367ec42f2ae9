"""The size of a pool of warm pods: as many as claims and warm pods need, by `decide` and `size_after_claims`.

One pool without jobs. A run sees everything at one moment and sets `size`; what is missing of `size` and of the claims
that wait is created, what is too much is removed. Claims come, take a free pod or wait; pods become ready; a claim ends
and its pod comes back, which raises `size`, or is replaced. Cooldowns are over at once.

Rules: most (never more pods than the maximum), over (no pod is created while the warm ones and those that boot are
enough for `maxIdle` and every claim that waits). Ends settled: every claim has a pod or the pool is full, and as many
warm pods as wished, as far as the maximum goes.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    wrong: str = ""


def policy(most: int, idle: int) -> ScalingPolicy:
    return ScalingPolicy((), max_pods=most, max_idle=idle, down_cooldown=timedelta(0))


def run(s: S, rules: ScalingPolicy, additive: bool) -> S:
    """One run of the pool."""
    there = s.boot + s.free
    what = PoolSignals(PodTotals(open=s.free, booting=s.boot, claimed=s.taken + s.drain, free=s.free), claims=s.waiting)
    size = size_after_claims(what, rules, s.size, there) if additive else s.size
    claims = s.waiting if additive else 0
    missing = max(0, min(size + claims, rules.max_pods - s.taken - s.drain) - there)
    what = PoolSignals(PodTotals(s.free, s.boot + missing, s.taken + s.drain, free=s.free), claims=s.waiting)
    size = max(0, min(rules.max_pods, size + decide(what, rules, NOW).change))
    wanted = max(0, min(size + claims, rules.max_pods - s.taken - s.drain))
    create = max(0, min(wanted - there, rules.max_pods - there - s.taken - s.drain))
    remove = 0 if s.waiting else max(0, min(there - wanted, s.free))
    wrong = "over" if create and there + create > rules.max_idle + s.waiting else ""
    return s._replace(size=size, boot=s.boot + create, free=s.free - remove, wrong=wrong)


def steps(rules: ScalingPolicy, additive: bool, s: S) -> Iterator[tuple[str, str, S]]:
    if s.wrong:
        return
    yield SYS, "the pool runs", run(s, rules, additive)
    if s.boot:
        yield SYS, "a pod is ready", s._replace(boot=s.boot - 1, free=s.free + 1)
    if s.waiting and s.free:
        yield SYS, "a waiting claim takes a pod", s._replace(waiting=s.waiting - 1, free=s.free - 1, taken=s.taken + 1)
    if s.drain:
        yield SYS, "a pod comes back", s._replace(drain=s.drain - 1, free=s.free + 1, size=s.size + 1)
        yield SYS, "a pod is replaced", s._replace(drain=s.drain - 1)
    if s.left:
        if s.free:
            yield ENV, "a claim comes", s._replace(left=s.left - 1, free=s.free - 1, taken=s.taken + 1)
        else:
            yield ENV, "a claim comes, and waits", s._replace(left=s.left - 1, waiting=s.waiting + 1)
    if s.taken and s.ends:
        yield ENV, "a claim ends", s._replace(ends=s.ends - 1, taken=s.taken - 1, drain=s.drain + 1)


def settled(rules: ScalingPolicy, s: S) -> bool:
    full = s.taken >= rules.max_pods
    warm = s.free == min(rules.max_idle, rules.max_pods - s.taken)
    return bool(s.wrong) or (s.boot == s.drain == 0 and (full or not s.waiting) and warm)


def check(most: int, idle: int, additive: bool = True) -> Result:
    rules = policy(most, idle)
    kinds = {
        "most": lambda s: s.boot + s.free + s.taken + s.drain <= most,
        "over": lambda s: s.wrong != "over",
    }
    return explore(S(), partial(steps, rules, additive), kinds, partial(settled, rules))
