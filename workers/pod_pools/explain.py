"""What the next run of a pod pool would do, in the order in which it would, without doing anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from pydantic import ValidationError

from berthmaster.jobs.slot_ledger import Size, SlotLedger
from berthmaster.spec import length
from domain.claims.draining import Next
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.pod_pools.pod_steps import Patience, made_of
from domain.spec_errors import spec_problem
from events.workqueue import Snapshot
from workers.kube.pod_pools import owner_reference
from workers.kube.pool_pods import PoolPods, revision_of
from workers.pod_pools.draining import next_steps
from workers.pod_pools.observation_time import watched
from workers.pod_pools.observe import Seen, needs, observed, spec_of
from workers.pod_pools.runner_tokens import tokens_of
from workers.pod_pools.scaling import expected, planned
from workers.pod_pools.services import PodPoolServices
from workers.pod_pools.waiting_claims import count
from workers.stores.slots.view import standing, view

WORDS: Final = {Next.WAIT: "waits", Next.ASK: "is asked", Next.IDLE: "is warm again", Next.GO: "goes"}


@dataclass(frozen=True)
class Foreseen:
    """`gone`: pods whose jobs are placed again. `care`: pod -> what is done to it. `token`: what becomes of it.

    The decision is made from what there is now: if something is done to a pod before, the run looks again.
    `problem`: why nothing is decided, '' if something is.
    """

    gone: tuple[str, ...] = ()
    care: tuple[tuple[str, str], ...] = ()
    token: str = ""
    change: int = 0
    reason: str = ""
    size: int = 0
    create: int = 0
    remove: tuple[str, ...] = ()
    problem: str = ""


def foresee(services: PodPoolServices, pool: str) -> Foreseen | None:
    """`pool` is namespace/name; None when there is none, or it goes. Raises KubeError, and redis-py's errors."""
    found = services.pools.read(*pool.split("/"))
    if found is None or found.body["deleting"]:
        return None
    try:
        return _run(services, services.ledger(pool), found, spec_of(found.body))
    except ValidationError as error:
        return Foreseen(problem=f"the spec is not valid: {spec_problem(error)}")


def _run(services: PodPoolServices, ledger: SlotLedger, pool: Snapshot, spec: PodPoolSpec) -> Foreseen:
    namespace = ledger.pool.split("/")[0]
    pods = PoolPods(services.kube, namespace, pool.body["name"], owner_reference(pool))
    stands = standing(ledger)
    waiting = services.waiting.all(namespace)
    listed = pods.labelled()
    seen = observed(listed, pods.owns, view(ledger), services.kube.clock.now())
    tokens = tokens_of(services, None, ledger, pool, spec)
    name, token = tokens.foreseen(seen.now, not any(pod.busy for pod in seen.slots.pods))
    made = made_of(revision_of(spec), name or "")
    patience = Patience(length(spec.ready_timeout), services.silence)
    heard = watched(ledger, services.silence, looks=False)
    care = needs(seen, made, patience, stands.asked, heard, known=name is not None)
    told = Foreseen(
        gone=tuple(each.name for each in seen.slots.pods if each.uid in seen.gone),
        care=(*((member.name, needed.value) for member, needed in care), *_drains(seen, spec, made)),
        token=token,
    )
    if stands.size is None:
        return replace(told, problem="not every pod has reported since Redis was new: the size stays until then")
    claims = count(waiting, pool.body["name"], seen.members)
    return _sized(told, seen, stands.size, spec, claims, (made, token if name is None else ""))


def _drains(seen: Seen, spec: PodPoolSpec, made: str) -> Iterator[tuple[str, str]]:
    for member, drain, step in next_steps(seen, spec, made):
        yield member.name, f"drains: {WORDS[step]}, {max(0, drain.sessions)} sessions"


def _sized(told: Foreseen, seen: Seen, size: Size, spec: PodPoolSpec, claims: int, made: tuple[str, str]) -> Foreseen:
    """`made`: what new pods would be made of, and why they would have no token."""
    present = expected(seen)[1]
    size = replace(size, pods=_within(spec, size.pods if size.pods >= 0 else present))
    plan = planned(seen, size, spec, claims, *made)
    return replace(
        told,
        change=plan.decision.change,
        reason=plan.barred or plan.decision.reason,
        size=plan.wanted,
        create=len(plan.names) + plan.create,
        remove=tuple(member.name for member in plan.remove),
    )


def _within(spec: PodPoolSpec, pods: int) -> int:
    return max(spec.min_replicas, min(spec.max_replicas, pods))
