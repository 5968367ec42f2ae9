"""Makes a pool as large as the decision says.

The ledger keeps the names of pods before they are created, idle pods are fenced before they are deleted, and whatever
cannot be read changes nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial
from typing import Final

import structlog

from berthmaster.jobs.slot_ledger import Size, SlotLedger
from domain.pod_pools.decision import (
    Decision,
    Move,
    decide,
    decide_first,
    demand,
    required_pods,
    size_after_claims,
)
from domain.pod_pools.new_pods import NewPods
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.pod_pools.pod_steps import Member, PodCategory, surplus
from domain.pod_pools.schedules import ScheduleView
from domain.pod_pools.signals import PodTotals, PoolSignals, ScalingPolicy
from domain.pod_pools.unready import allowance
from domain.quantity import quantity
from events.kube.api import Denied, Invalid, shown
from workers.kube.pool_pods import PoolPods, revision_of
from workers.pod_pools.decision_log import record, record_problem
from workers.pod_pools.observe import PodPoolObservation, signals_of
from workers.pod_pools.runner_tokens import TokenGrant
from workers.pod_pools.scale_down import close_and_delete, retire_and_delete
from workers.pod_pools.services import PodPoolServices
from workers.pod_pools.side_by_side import side_by_side
from workers.pod_pools.slow_start import slowly
from workers.run import Run

log = structlog.get_logger()
Decide = Callable[[PoolSignals, ScalingPolicy, datetime], Decision]
OUTSIDE_SIZE = (PodCategory.CLAIMED, PodCategory.CORDONED)


@dataclass(frozen=True)
class CreationResult:
    """`count` pods were created; `left` remain for a later run because of `refusal`, in the API server's words."""

    count: int
    left: int
    refusal: str

    def __add__(self, later: CreationResult) -> CreationResult:
        """What both did. Where the first was refused, the second tried nothing."""
        left = self.left if self.refusal else later.left
        return CreationResult(self.count + later.count, left, self.refusal or later.refusal)


NOTHING: Final = CreationResult(0, 0, "")


@dataclass(frozen=True)
class ScalingResult:
    """`size`: pods with slots that there shall be. `claims` wait for a pod of this pool.

    `obstacle`: why no pod is created, whatever was decided, '' for nothing.
    """

    observed: PodPoolObservation
    size: int
    decision: Decision
    grant: TokenGrant
    claims: int
    obstacle: str
    created: CreationResult
    schedules: ScheduleView

    @property
    def problem(self) -> str:
        """Why pods are missing, '' for nothing."""
        return self.created.refusal or self.obstacle

    @property
    def change(self) -> str:
        """To how many pods the pool grows or shrinks, and why; '' where it does neither, or no pod could be created."""
        decision = self.decision
        if not decision.change or (decision.move is Move.UP and self.problem and not self.created.count):
            return ""
        return f"to {quantity(self.size - self.created.left, 'pod')}: {decision.reason}"


@dataclass(frozen=True)
class ScalingPlan:
    """`size`: pods with slots that there shall be. `desired`: the same with pods for waiting claims.

    `names`: pods that an earlier run wanted to create and that are still needed. `dropped`: those that are not needed.
    `create`: how many pods come beside `names`. `remove`: pods that go if they are still idle.
    """

    decision: Decision
    signals: PoolSignals
    size: int
    desired: int
    names: tuple[str, ...]
    dropped: frozenset[str]
    create: int
    remove: tuple[Member, ...]
    obstacle: str


def make_plan(
    observed: PodPoolObservation,
    size: Size,
    policy: ScalingPolicy,
    claims: int,
    new: NewPods,
    decide: Decide = decide,
) -> ScalingPlan:
    """Plan what is created and removed, without any effect.

    Claims take no outdated pods. While the pool is frozen these stay, so that other pods must be warm.
    """
    unlisted, present = expected_pods(observed)
    only = new.revision if policy.frozen else None
    signals = demand(signals_of(observed, size, len(unlisted), claims, only), policy)
    pods = size_after_claims(signals, policy, size.pods, present)
    allowed = allowance(observed.slots.unready, new.revision, signals.pods.booting)
    obstacle = new.withheld or allowed.obstacle
    room, listed = _room(observed, policy), present - len(unlisted)
    most = 0 if new.withheld else room if allowed.pods is None else min(room, allowed.pods)
    missing = _desired(observed, policy, pods + claims) - present
    coming = max(0, min(missing, most - len(unlisted)))
    signals = replace(signals, pods=_expected(signals.pods, missing, coming))
    decision = decide(signals, policy, observed.now)
    pods = max(policy.min_pods, min(policy.max_pods, pods + decision.change))
    desired = _desired(observed, policy, pods + claims)
    create = max(0, min(desired - listed, most))
    names = tuple(sorted(unlisted)[:create])
    removable = [member for member in observed.members if member.stalled or not policy.frozen]
    remove = () if claims else surplus(removable, listed - desired, new.fingerprint)
    dropped = unlisted - {*names}
    return ScalingPlan(decision, signals, pods, desired, names, dropped, create - len(names), remove, obstacle)


def _expected(pods: PodTotals, missing: int, coming: int) -> PodTotals:
    """Count pods that were decided. `missing` of them are in no list, and below 0 so many are there beyond them.

    `coming` of the missing ones are created now, and boot. What cannot be created is no reason to keep idle pods.
    """
    absent = pods.missing + max(0, missing) - coming
    return replace(pods, booting=pods.booting + coming, missing=absent, excess=max(0, -missing))


def expected_pods(observed: PodPoolObservation) -> tuple[frozenset[str], int]:
    """Names of pods that are to be created or are in no list yet; and the number of pods with slots, those included."""
    unlisted = observed.slots.names - {member.name for member in observed.members}
    return unlisted, sum(member.gives_slots for member in observed.members) + len(unlisted)


def _room(observed: PodPoolObservation, policy: ScalingPolicy) -> int:
    """How many pods may be created. A late pod of an older run, whose name is dropped already, counts once listed.

    A pod that is lost leaves its place to another: nobody may ever confirm that it has ended.
    """
    return policy.max_pods - sum(not member.lost for member in observed.members)


def _desired(observed: PodPoolObservation, policy: ScalingPolicy, pods: int) -> int:
    """`pods`, as far as the maximum leaves room beside pods that are claimed or cordoned."""
    outside = sum(member.category in OUTSIDE_SIZE for member in observed.members)
    return max(0, min(pods, policy.max_pods - outside))


@dataclass(frozen=True)
class PoolScaler:
    """Scales one pool in one run, under the schedules of the time at which the run began."""

    services: PodPoolServices
    run: Run
    ledger: SlotLedger
    pods: PoolPods
    spec: PodPoolSpec
    schedules: ScheduleView

    @cached_property
    def policy(self) -> ScalingPolicy:
        """The policy of the run."""
        return self.spec.policy_under(self.schedules)

    def begin(self, observed: PodPoolObservation, reused: int = 0) -> Size:
        """Read the size, and refuse older runs from now on. Raises NotVerified while it is not known what runs.

        `reused` pods are warm again after a drain. They count for the size, so that they go only after the cooldown.
        """
        present = expected_pods(observed)[1]
        size = self._resize(None, present)
        return self._resize(size.pods + reused, present) if reused else size

    def refill(self, observed: PodPoolObservation, size: Size, grant: TokenGrant, claims: int) -> ScalingResult | None:
        """Create the pods that claims wait for and those that shall be warm, before anything else is done for a pod.

        `grant` is what new pods get. None: no such pod is missing.
        """
        plan = self._plan(observed, size, grant, claims, decide_first)
        if not plan.create and not plan.names:
            return None
        return self._grow(observed, size, grant, claims, replace(plan, dropped=frozenset()), NOTHING)

    def scale(
        self,
        observed: PodPoolObservation,
        size: Size,
        grant: TokenGrant,
        claims: int,
        refilled: ScalingResult | None = None,
    ) -> ScalingResult:
        """Decide once, and create or remove pods. `grant` is what new pods get; `refilled`: what `refill` has done."""
        plan = self._plan(observed, size, grant, claims, decide)
        if refilled and refilled.decision.move is Move.UP and plan.decision.move is Move.HOLD:
            plan = replace(plan, decision=refilled.decision)
        if refilled and refilled.created.refusal:  # it is tried once a run
            plan = replace(plan, names=(), create=0)
        result = self._grow(observed, size, grant, claims, plan, refilled.created if refilled else NOTHING)
        floor = required_pods(plan.signals, self.policy)
        side_by_side(self.services.pod_writes, (self._removal(member, floor) for member in plan.remove))
        return result

    def _removal(self, member: Member, floor: int) -> Callable[[], bool]:
        """A stalled pod is no capacity, so that no floor keeps it."""
        about = self.services, self.run, self.ledger, self.pods, member
        return partial(retire_and_delete, *about) if member.stalled else partial(close_and_delete, *about, floor)

    def _plan(
        self, observed: PodPoolObservation, size: Size, grant: TokenGrant, claims: int, decide: Decide
    ) -> ScalingPlan:
        new = NewPods(revision_of(self.spec), grant.name, grant.withheld)
        return make_plan(observed, size, self.policy, claims, new, decide)

    def _grow(
        self,
        observed: PodPoolObservation,
        size: Size,
        grant: TokenGrant,
        claims: int,
        plan: ScalingPlan,
        before: CreationResult,
    ) -> ScalingResult:
        """`before`: what this run has created already; the pods are in `observed`."""
        ledger, present = self.ledger, expected_pods(observed)[1]
        decision = plan.decision
        if plan.size != size.pods:
            reason = decision.reason if decision.change else "claims have taken pods"
            was, size = size.pods, self._resize(plan.size, present)
            log.info("pool_resized", pool=ledger.pool, size=size.pods, change=size.pods - was, reason=reason)
        record(ledger, decision, plan.desired, plan.signals, self.spec.layout, self.schedules.lines)
        created = self._create(plan, grant)
        total = before + created
        result = ScalingResult(observed, plan.desired, decision, grant, claims, plan.obstacle, total, self.schedules)
        if result.problem:
            booting = sum(member.category is PodCategory.BOOTING for member in observed.members)
            record_problem(ledger, result.problem, booting + created.count)
        return result

    def _resize(self, size: int | None, present: int) -> Size:
        policy, token = self.policy, self.run.token
        return self.ledger.resize(token, size, policy.min_pods, policy.max_pods, present, self.spec.limits)

    def _create(self, plan: ScalingPlan, grant: TokenGrant) -> CreationResult:
        """Create the pods whose names the ledger has, and new ones. A name is random, and never used twice."""
        pool, spec = self.ledger.pool, self.spec
        new_names = [f"{pool.rpartition('/')[2]}-{secrets.token_hex(4)}" for _ in range(plan.create)]
        names = [*plan.names, *new_names]
        if names or plan.dropped:
            self.ledger.enlist(self.run.token, names, plan.dropped)
        variables = self.services.environment(pool, spec.model_dump(by_alias=True)) if spec.slots else []
        environment, created = grant.environment(variables), list[str]()

        def create(name: str) -> str:
            try:
                self.pods.create(name, spec, environment, grant.annotations)
            except (Denied, Invalid) as error:
                shown(error)
                log.warning("pod_refused", pool=pool, pod=name, reason=str(error))
                return f"Kubernetes refuses to make a pod: {error}"
            created.append(name)
            log.info("pod_created", pool=pool, pod=name)
            return ""

        refusal = slowly(self._keep, create, names)
        return CreationResult(len(created), len(names) - len(created), refusal)

    def _keep(self) -> None:
        self.run.keep(self.services.call_time)
