"""Makes a pool as large as the decision says.

Names are written down before pods are created, idle pods are fenced before they are deleted, and whatever cannot be
read changes nothing.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace

import structlog

from berthmaster.jobs.slot_ledger import Size, SlotLedger
from domain.pod_pools.decision import Decision, Move, decide, demand, kept, owed
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.pod_pools.pod_steps import Member, Place, made_of, surplus
from domain.pod_pools.signals import Sensed
from domain.pod_pools.unready import blocked
from events.kube.api import Denied, Invalid, shown
from workers.kube.pool_pods import PoolPods, revision_of
from workers.pod_pools.decision_log import record, record_problem
from workers.pod_pools.observe import Seen, sensed
from workers.pod_pools.runner_tokens import Issued
from workers.pod_pools.scale_down import close_and_delete
from workers.pod_pools.services import PodPoolServices
from workers.pod_pools.slow_start import slowly
from workers.run import Run

log = structlog.get_logger()
ELSEWHERE = (Place.CLAIMED, Place.CORDONED)


@dataclass(frozen=True)
class Created:
    """Pods that were `made`, and those `left` for later because the API server `refused` one, in its words."""

    made: int
    left: int
    refused: str


@dataclass(frozen=True)
class Scaled:
    """`size`: pods with slots that there shall be; `claims` wait for a pod of this pool."""

    seen: Seen
    size: int
    decision: Decision
    issued: Issued
    claims: int
    barred: str  # why no pod is created, whatever was decided
    created: Created

    @property
    def problem(self) -> str:
        """Why there are not the pods that there shall be, '' for nothing."""
        return self.created.refused or self.barred

    @property
    def change(self) -> str:
        """Up or Down, with why and to how many pods; '' for neither, also where no pod could be made."""
        decision = self.decision
        if not decision.change or (decision.move is Move.UP and self.problem and not self.created.made):
            return ""
        return f"{decision.reason}: {self.size - self.created.left} pods"


@dataclass(frozen=True)
class Plan:
    """`size`: pods with slots that there shall be; `wanted`: with those that waiting claims are to have.

    `names`: of pods that were to be created before and still are, `dropped`: those that are not, `create`: new ones.
    `remove`: only if they are still idle.
    """

    decision: Decision
    what: Sensed
    size: int
    wanted: int
    names: tuple[str, ...]
    dropped: frozenset[str]
    create: int
    remove: tuple[Member, ...]
    barred: str


def planned(seen: Seen, size: Size, spec: PodPoolSpec, claims: int, made: str, withheld: str) -> Plan:
    """What is to be done, and what that was made from. Changes nothing. `made`: what pods are made of at present.

    `withheld`: why new pods would have no token, '' when they would have one or need none.
    """
    unseen, present = expected(seen)
    policy = spec.policy
    what = demand(sensed(seen, size, len(unseen), claims), policy)
    pods = kept(what, policy, size.pods, present)
    missing = max(0, _wanted(seen, spec, pods + claims) - present)
    what = replace(what, pods=replace(what.pods, booting=what.pods.booting + missing))
    decision = decide(what, policy, seen.now)
    pods = max(spec.min_replicas, min(spec.max_replicas, pods + decision.change))
    wanted = _wanted(seen, spec, pods + claims)
    barred = withheld or blocked(seen.slots.unready, revision_of(spec))
    room, listed = _room(seen, spec), present - len(unseen)
    create = 0 if barred else max(0, min(wanted - listed, room))
    names = tuple(sorted(unseen)[:create])
    remove = () if claims else surplus(seen.members, listed - wanted, made)
    return Plan(decision, what, pods, wanted, names, unseen - {*names}, create - len(names), remove, barred)


def expected(seen: Seen) -> tuple[frozenset[str], int]:
    """Pods that are to be created, or in no list yet; and all pods with slots, those included."""
    unseen = seen.slots.names - {m.name for m in seen.members}
    return unseen, sum(m.gives_slots for m in seen.members) + len(unseen)


def _room(seen: Seen, spec: PodPoolSpec) -> int:
    """A pod that an older run asked for, and that comes when its name is dropped already, counts once it is listed."""
    return spec.max_replicas - len(seen.members)


def _wanted(seen: Seen, spec: PodPoolSpec, pods: int) -> int:
    """Beside those that claims have."""
    return max(0, min(pods, spec.max_replicas - sum(m.place in ELSEWHERE for m in seen.members)))


@dataclass(frozen=True)
class Scaling:
    """Makes one pool as large as the decision says."""

    services: PodPoolServices
    run: Run
    ledger: SlotLedger
    pods: PoolPods
    spec: PodPoolSpec

    def begin(self, seen: Seen, returned: int = 0) -> Size:
        """From now on older runs are refused. Raises NotVerified while it is not known what runs.

        `returned`: pods that are warm again, which go after the cooldown only.
        """
        present = expected(seen)[1]
        size = self._resized(None, present)
        return self._resized(size.pods + returned, present) if returned else size

    def scale(self, seen: Seen, size: Size, issued: Issued, claims: int) -> Scaled:
        """One decision, and its effect; `issued` is what new pods get."""
        spec, ledger, (_, present) = self.spec, self.ledger, expected(seen)
        plan = planned(seen, size, spec, claims, made_of(revision_of(spec), issued.name), issued.withheld)
        decision = plan.decision
        if plan.size != size.pods:
            reason = decision.reason if decision.change else "claims have taken pods"
            was, size = size.pods, self._resized(plan.size, present)
            log.info("pool_resized", pool=ledger.pool, size=size.pods, change=size.pods - was, reason=reason)
        record(ledger, decision, plan.wanted, plan.what, spec.layout)
        scaled = Scaled(seen, plan.wanted, decision, issued, claims, plan.barred, self._create(plan, issued))
        if scaled.problem:
            booting = sum(m.place is Place.BOOTING for m in seen.members)
            record_problem(ledger, scaled.problem, booting + scaled.created.made)
        for member in plan.remove:
            close_and_delete(self.services, self.run, ledger, self.pods, member, owed(plan.what, spec.policy))
        return scaled

    def _resized(self, size: int | None, present: int) -> Size:
        return self.ledger.resize(self.run.token, size, self.spec.min_replicas, self.spec.max_replicas, present)

    def _create(self, plan: Plan, issued: Issued) -> Created:
        """Those that were written down before, and new ones. A name is random, and never used twice."""
        pool, spec = self.ledger.pool, self.spec
        fresh = [f"{pool.rpartition('/')[2]}-{secrets.token_hex(4)}" for _ in range(plan.create)]
        names = [*plan.names, *fresh]
        if names or plan.dropped:
            self.ledger.enlist(self.run.token, names, plan.dropped)
        told = self.services.environment(pool, spec.model_dump(by_alias=True)) if spec.slots else []
        environment, made = issued.environment(told), list[str]()

        def create(name: str) -> str:
            try:
                self.pods.create(name, spec, environment, issued.annotations)
            except (Denied, Invalid) as error:
                shown(error)
                log.warning("pod_refused", pool=pool, pod=name, reason=str(error))
                return f"Kubernetes refuses to make a pod: {error}"
            made.append(name)
            log.info("pod_created", pool=pool, pod=name)
            return ""

        refused = slowly(self._kept, create, names)
        return Created(len(made), len(names) - len(made), refused)

    def _kept(self) -> None:
        self.run.keep(self.services.call_time)
