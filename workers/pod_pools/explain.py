"""What the next run of a pod pool would do: the same observation and decisions, without acting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from pydantic import ValidationError

from berthmaster.jobs.slot_ledger import Size, SlotLedger
from berthmaster.spec import length
from domain.claims.draining import Next
from domain.pod_pools.new_pods import NewPods
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.pod_pools.pod_steps import Member, PodStep, PodTimeouts, removal_reason, retirement_reason
from domain.pod_pools.signals import ScalingPolicy
from domain.spec_errors import spec_problem
from events.workqueue import Snapshot
from workers.kube.pod_pools import owner_reference
from workers.kube.pool_pods import PoolPods, revision_of
from workers.pod_pools.claimable_pods import count_waiting
from workers.pod_pools.drains import next_steps
from workers.pod_pools.observe import PodPoolObservation, observation_of, observed_for, pending_steps, spec_of
from workers.pod_pools.runner_tokens import tokens_of
from workers.pod_pools.scaling import expected_pods, make_plan
from workers.pod_pools.services import PodPoolServices
from workers.stores.slots.view import pool_sizing, view

WORDS: Final = {Next.WAIT: "waits", Next.ASK: "is asked", Next.IDLE: "is warm again", Next.GO: "goes"}


@dataclass(frozen=True)
class PodPoolDryRun:
    """What a run would do to the pods that there are now. If it changes one, the real run observes again.

    `gone`: pods whose jobs are placed again. `steps`: pod -> what is done to it. `token`: what becomes of it.
    `schedules`: the pool's, in words. `problem`: why nothing is decided, '' if something is.
    """

    gone: tuple[str, ...] = ()
    steps: tuple[tuple[str, str], ...] = ()
    token: str = ""
    schedules: tuple[str, ...] = ()
    change: int = 0
    reason: str = ""
    size: int = 0
    create: int = 0
    remove: tuple[str, ...] = ()
    problem: str = ""

    @property
    def document(self) -> dict[str, Any]:
        """The dry run as `--json` has it."""
        return {"care" if name == "steps" else name: value for name, value in asdict(self).items()}


def dry_run(services: PodPoolServices, pool: str) -> PodPoolDryRun | None:
    """Plan the next run of `pool`, namespace/name. None: there is no such pool, or it is being deleted.

    Raises KubeError, and redis-py's errors.
    """
    snapshot = services.pools.read(*pool.split("/"))
    if snapshot is None or snapshot.body["deleting"]:
        return None
    try:
        return _plan_run(services, services.ledger(pool), snapshot, spec_of(snapshot.body))
    except ValidationError as error:
        return PodPoolDryRun(problem=f"the spec is not valid: {spec_problem(error)}")


def _plan_run(services: PodPoolServices, ledger: SlotLedger, pool: Snapshot, spec: PodPoolSpec) -> PodPoolDryRun:
    namespace = ledger.pool.split("/")[0]
    pods = PoolPods(services.kube, namespace, pool.body["name"], owner_reference(pool))
    sizing = pool_sizing(ledger)
    waiting = services.waiting.all(namespace)
    listed = pods.labelled()
    observed = observation_of(listed, pods.owns, view(ledger), services.kube.clock.now())
    tokens = tokens_of(services, None, ledger, pool, spec)
    name, token = tokens.preview(observed.now, not any(pod.busy for pod in observed.slots.pods))
    new = NewPods(revision_of(spec), name or "", token if name is None else "")
    schedules = spec.schedules_at(observed.now)
    current = None if schedules.frozen else new.fingerprint
    timeouts = PodTimeouts(length(spec.ready_timeout), services.silence, rest=spec.rest)
    since_start = observed_for(ledger, services.silence, record=False)
    since_request, token_known = sizing.asked, name is not None
    steps = pending_steps(observed, current, timeouts, since_request, since_start, token_known=token_known)
    plan = PodPoolDryRun(
        gone=tuple(pod.name for pod in (*observed.slots.pods, *observed.slots.unrecorded) if pod.uid in observed.gone),
        steps=(
            *((member.name, _said(step, member, timeouts)) for member, step in steps),
            *_drains(observed, spec, new.fingerprint),
        ),
        token=token,
        schedules=schedules.lines,
    )
    if sizing.size is None:
        return replace(plan, problem="not every pod has reported since Redis was new: the size stays until then")
    claims = count_waiting(waiting, pool.body["name"], observed.members)
    return _with_size(plan, observed, sizing.size, spec.policy_under(schedules), claims, new)


def _said(step: PodStep, member: Member, timeouts: PodTimeouts) -> str:
    reasons = {PodStep.REMOVE: removal_reason, PodStep.RETIRE: retirement_reason}
    reason = reasons[step](member, timeouts) if step in reasons else None
    return f"{step.value}: {reason}" if reason else step.value


def _drains(observed: PodPoolObservation, spec: PodPoolSpec, current: str) -> Iterator[tuple[str, str]]:
    for member, drain, step in next_steps(observed, spec, current):
        yield member.name, f"drains: {WORDS[step]}, {drain.sessions or 0} sessions"


def _with_size(
    plan: PodPoolDryRun,
    observed: PodPoolObservation,
    size: Size,
    policy: ScalingPolicy,
    claims: int,
    new: NewPods,
) -> PodPoolDryRun:
    present = expected_pods(observed)[1]
    pods = size.pods if size.pods >= 0 else present
    size = replace(size, pods=max(policy.min_pods, min(policy.max_pods, pods)))
    scaling = make_plan(observed, size, policy, claims, new)
    return replace(
        plan,
        change=scaling.decision.change,
        reason=scaling.obstacle or scaling.decision.reason,
        size=scaling.desired,
        create=len(scaling.names) + scaling.create,
        remove=tuple(member.name for member in scaling.remove),
    )
