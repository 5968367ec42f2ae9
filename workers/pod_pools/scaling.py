"""Makes a pool as large as the decision says.

The ledger keeps the names of pods before they are created, idle pods are fenced before they are deleted, and whatever
cannot be read changes nothing.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace

import structlog

from berthmaster.jobs.slot_ledger import Size, SlotLedger
from domain.pod_pools.decision import Decision, Move, decide, demand, required_pods, size_after_claims
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.pod_pools.pod_steps import Member, PodCategory, fingerprint, surplus
from domain.pod_pools.signals import PoolSignals
from domain.pod_pools.unready import blocked
from events.kube.api import Denied, Invalid, shown
from workers.kube.pool_pods import PoolPods, revision_of
from workers.pod_pools.decision_log import record, record_problem
from workers.pod_pools.observe import PodPoolObservation, signals_of
from workers.pod_pools.runner_tokens import TokenGrant
from workers.pod_pools.scale_down import close_and_delete
from workers.pod_pools.services import PodPoolServices
from workers.pod_pools.slow_start import slowly
from workers.run import Run

log = structlog.get_logger()
OUTSIDE_SIZE = (PodCategory.CLAIMED, PodCategory.CORDONED)


@dataclass(frozen=True)
class CreationResult:
    """`count` pods were created; `left` remain for a later run because of `refusal`, in the API server's words."""

    count: int
    left: int
    refusal: str


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

    @property
    def problem(self) -> str:
        """Why pods are missing, '' for nothing."""
        return self.created.refusal or self.obstacle

    @property
    def change(self) -> str:
        """Why the pool grows or shrinks, and to how many pods; '' where it does neither, or no pod could be created."""
        decision = self.decision
        if not decision.change or (decision.move is Move.UP and self.problem and not self.created.count):
            return ""
        return f"{decision.reason}: {self.size - self.created.left} pods"


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
    observed: PodPoolObservation, size: Size, spec: PodPoolSpec, claims: int, current: str, withheld: str
) -> ScalingPlan:
    """Plan what is created and removed, without any effect. `current`: the fingerprint of new pods.

    `withheld`: why new pods would have no token, '' when they have one or need none.
    """
    unlisted, present = expected_pods(observed)
    policy = spec.policy
    signals = demand(signals_of(observed, size, len(unlisted), claims), policy)
    pods = size_after_claims(signals, policy, size.pods, present)
    missing = max(0, _desired(observed, spec, pods + claims) - present)
    signals = replace(signals, pods=replace(signals.pods, booting=signals.pods.booting + missing))
    decision = decide(signals, policy, observed.now)
    pods = max(spec.min_replicas, min(spec.max_replicas, pods + decision.change))
    desired = _desired(observed, spec, pods + claims)
    obstacle = withheld or blocked(observed.slots.unready, revision_of(spec))
    room, listed = _room(observed, spec), present - len(unlisted)
    create = 0 if obstacle else max(0, min(desired - listed, room))
    names = tuple(sorted(unlisted)[:create])
    remove = () if claims else surplus(observed.members, listed - desired, current)
    dropped = unlisted - {*names}
    return ScalingPlan(decision, signals, pods, desired, names, dropped, create - len(names), remove, obstacle)


def expected_pods(observed: PodPoolObservation) -> tuple[frozenset[str], int]:
    """Names of pods that are to be created or are in no list yet; and the number of pods with slots, those included."""
    unlisted = observed.slots.names - {member.name for member in observed.members}
    return unlisted, sum(member.gives_slots for member in observed.members) + len(unlisted)


def _room(observed: PodPoolObservation, spec: PodPoolSpec) -> int:
    """How many pods may be created. A late pod of an older run, whose name is dropped already, counts once listed."""
    return spec.max_replicas - len(observed.members)


def _desired(observed: PodPoolObservation, spec: PodPoolSpec, pods: int) -> int:
    """`pods`, as far as the maximum leaves room beside pods that are claimed or cordoned."""
    outside = sum(member.category in OUTSIDE_SIZE for member in observed.members)
    return max(0, min(pods, spec.max_replicas - outside))


@dataclass(frozen=True)
class PoolScaler:
    """Scales one pool in one run."""

    services: PodPoolServices
    run: Run
    ledger: SlotLedger
    pods: PoolPods
    spec: PodPoolSpec

    def begin(self, observed: PodPoolObservation, returned: int = 0) -> Size:
        """Read the size, and refuse older runs from now on. Raises NotVerified while it is not known what runs.

        `returned` pods are warm again. They count for the size, so that they go only after the cooldown.
        """
        present = expected_pods(observed)[1]
        size = self._resize(None, present)
        return self._resize(size.pods + returned, present) if returned else size

    def scale(self, observed: PodPoolObservation, size: Size, grant: TokenGrant, claims: int) -> ScalingResult:
        """Decide once, and create or remove pods. `grant` is what new pods get."""
        spec, ledger, (_, present) = self.spec, self.ledger, expected_pods(observed)
        plan = make_plan(observed, size, spec, claims, fingerprint(revision_of(spec), grant.name), grant.withheld)
        decision = plan.decision
        if plan.size != size.pods:
            reason = decision.reason if decision.change else "claims have taken pods"
            was, size = size.pods, self._resize(plan.size, present)
            log.info("pool_resized", pool=ledger.pool, size=size.pods, change=size.pods - was, reason=reason)
        record(ledger, decision, plan.desired, plan.signals, spec.layout)
        created = self._create(plan, grant)
        result = ScalingResult(observed, plan.desired, decision, grant, claims, plan.obstacle, created)
        if result.problem:
            booting = sum(member.category is PodCategory.BOOTING for member in observed.members)
            record_problem(ledger, result.problem, booting + created.count)
        floor = required_pods(plan.signals, spec.policy)
        for member in plan.remove:
            close_and_delete(self.services, self.run, ledger, self.pods, member, floor)
        return result

    def _resize(self, size: int | None, present: int) -> Size:
        return self.ledger.resize(self.run.token, size, self.spec.min_replicas, self.spec.max_replicas, present)

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
