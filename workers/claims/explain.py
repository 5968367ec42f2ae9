"""Explain what the next run of a claim does, and why the claim cannot have a pod. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.unreadable import UnreadableLedger
from berthmaster.routing import pod_claim_key
from domain.claims.claim import Claim
from domain.claims.decision import Action, ClaimView, Step, next_step
from domain.claims.fitting import unfit
from domain.claims.pod import PoolPod
from domain.kubernetes.names import POOL
from domain.kubernetes.objects import KubeObject, Pod
from domain.pod_pools.pod_steps import LedgerState
from events.workqueue import KeyState
from workers.claims.observe import lacks_ports, outdated, request_of
from workers.claims.services import ClaimServices
from workers.kube.claim_pods import ClaimPods, pool_pod
from workers.kube.pods import pods_path
from workers.stores.slots.claimable import present_revision
from workers.stores.slots.pod_records import PodSlots
from workers.stores.slots.view import view

CLOSED: Final = {
    LedgerState.UNKNOWN: "its runner has not reported",
    LedgerState.CLAIMED: "a claim has taken it",
    LedgerState.FENCED: "it is being removed",
    LedgerState.AWAY: "it was not ready, and its pool has not looked again",
    LedgerState.NEW: "its pool has not opened it yet",
    LedgerState.ENDING: "it is being removed",
}
"""State of a pod in the slot ledger -> why no claim can have the pod."""
UNREADABLE: Final = "the slot ledger of its pool cannot be read"
STEP_TEXTS: Final = {
    Action.TAKE: "looks for a pod",
    Action.TAKE_TARGET: "takes {pod}, to move there",
    Action.ADOPT: "keeps {pod}, which has its label",
    Action.MARK: "records that it has {pod}, to move there",
    Action.GIVE_BACK: "gives {pod} back",
    Action.DISCARD: "gives {pod} back for good: no claim can use it",
    Action.CLEAR: "names no pod any more",
    Action.COMPLETE: "has moved",
    Action.RENEW: "records that it was renewed",
    Action.EXPIRE: "is deleted: it has expired",
    Action.FINISH: "lets itself be removed",
    Action.REST: "nothing is left to do",
    Action.WAIT: "waits: the pod that it names is missing",
}


@dataclass(frozen=True)
class PodCandidate:
    """A pod of a pool. `why` says why the claim cannot have it, None if it can."""

    pod: str
    pool: str | None
    phase: str
    why: str | None


@dataclass(frozen=True)
class ClaimExplanation:
    """A claim and its next run.

    Attributes:
        pods: the pods that carry the claim's label, with their phases.
        step: the first step of the next run.
        expiry: when the claim expires unless it is renewed, None if it never does.
        candidates: the pods that the claim could have, and those that it cannot have.
        ahead: how many claims have waited longer, None if this one does not wait.
        nominated: the pool that grows for the claim, None if none does.

    """

    name: str
    claim: KubeObject
    pods: tuple[tuple[str, str], ...]
    step: Step
    candidates: tuple[PodCandidate, ...]
    run: KeyState
    expiry: datetime | None = None
    ahead: int | None = None
    nominated: str | None = None


def explain_claim(services: ClaimServices, namespace: str, name: str) -> ClaimExplanation | None:
    """Explain a claim; None if there is no such claim.

    Raises KubeError, redis-py's errors, and pydantic's ValidationError for an invalid spec.
    """
    existing = services.claims.read(namespace, name)
    if existing is None:
        return None
    request, pods, now = request_of(existing), _pods(services, namespace), services.now()
    claim, lifetime = request.claim, request.lifetime
    pods |= _unlisted(services, namespace, set(claim.names) - pods.keys())
    mine = tuple(pod for pod in pods.values() if pod.claimed_by == claim.uid)
    named = {pod: pods[pod] for pod in claim.names if pod in pods}
    renewed, expired = lifetime.renewed(now), lifetime.expired(now)
    given_up = outdated(request, mine, lambda pool: present_revision(services.ledger(f"{namespace}/{pool}")))
    view = ClaimView(mine, named, grace=services.missing_grace, renewed=renewed, expired=expired, outdated=given_up)
    needs_pod = not claim.pod and not claim.deleting
    waiting = services.waiting.all(namespace)
    ahead = next((position for position, entry in enumerate(waiting) if entry.name == name), None)
    return ClaimExplanation(
        name=f"{namespace}/{name}",
        claim=existing,
        pods=tuple(sorted((pod.name, pod.phase.value) for pod in mine)),
        step=next_step(claim, view),
        expiry=lifetime.expiry,
        candidates=_candidates(services, namespace, name, claim, pods) if needs_pod else (),
        run=services.queue.key_state(pod_claim_key(namespace, name)),
        ahead=ahead,
        nominated=None if ahead is None else waiting[ahead].pool,
    )


def why_not(services: ClaimServices, namespace: str, existing: KubeObject, target: str) -> str | None:
    """Say why a claim cannot move to a pod now; None if it can."""
    request, pods = request_of(existing), _pods(services, namespace)
    claim = request.claim
    if claim.deleting:
        return "the claim is being deleted"
    if claim.moves:
        return f"it is moving already, from {claim.source} to {claim.pod}"
    if not claim.pod:
        return "it has no pod to leave"
    if claim.pod == target:
        return f"it is on {target}"
    if target not in pods:
        return f"there is no pod {target} of a pool in {namespace}"
    why = next(_judge(services, namespace, existing.name, claim, [pods[target]])).why
    pod = ClaimPods(services.kube, namespace).read(target)
    return why or (lacks_ports(request, pod) if pod else "it is gone")


def _pods(services: ClaimServices, namespace: str) -> dict[str, PoolPod]:
    """Read the pods of all pools of the namespace."""
    listed = services.kube.list(pods_path(namespace), labelSelector=POOL)["items"]
    pods = (pool_pod(Pod(body), services.now()) for body in listed)
    return {pod.name: pod for pod in pods}


def _unlisted(services: ClaimServices, namespace: str, names: Iterable[str]) -> dict[str, PoolPod]:
    """Read pods that the claim names and that carry no pool's label."""
    pods = (ClaimPods(services.kube, namespace).read(name) for name in names)
    return {pod.name: pool_pod(pod, services.now()) for pod in pods if pod}


def _candidates(
    services: ClaimServices, namespace: str, name: str, claim: Claim, pods: dict[str, PoolPod]
) -> tuple[PodCandidate, ...]:
    """Judge the pods of the claim's pools. Those that the claim can have come first."""
    of_pools = [pod for pod in pods.values() if claim.request.pool in (None, pod.pool)]
    judged = _judge(services, namespace, name, claim, of_pools)
    return tuple(sorted(judged, key=lambda candidate: (bool(candidate.why), candidate.pod)))


def _judge(
    services: ClaimServices, namespace: str, name: str, claim: Claim, pods: list[PoolPod]
) -> Iterator[PodCandidate]:
    """Say of each pod why the claim cannot have it."""
    named = services.index.named_by_others(namespace, (pod.name for pod in pods), name)
    pools = {pod.pool for pod in pods}
    slots_of = {pool: _slots(services.ledger(f"{namespace}/{pool}")) for pool in pools if pool is not None}
    for pod in pods:
        revision, slots = (None, None) if pod.pool is None else slots_of[pod.pool]
        others = "another claim names it" if pod.name in named else None
        closed = UNREADABLE if slots is None else _closed(slots.get(pod.uid))
        why = unfit(claim.request, pod, revision) or others or closed
        yield PodCandidate(pod.name, pod.pool, pod.phase.value, why)


def _slots(ledger: SlotLedger) -> tuple[str | None, dict[str, PodSlots] | None]:
    """Read the revision of the pool, and its pods by UID: no pods where the ledger cannot be read."""
    try:
        return present_revision(ledger), {pod.uid: pod for pod in view(ledger).pods}
    except UnreadableLedger:
        return None, None


def _closed(slots: PodSlots | None) -> str | None:
    """Say why the slot ledger gives the pod to no claim; None if it would."""
    if slots is None:
        return CLOSED[LedgerState.UNKNOWN]
    return CLOSED.get(LedgerState(slots.view)) or ("it has jobs" if slots.busy else None)


def in_words(step: Step) -> str:
    """Describe a step."""
    return STEP_TEXTS[step.action].format(pod=step.pod)
