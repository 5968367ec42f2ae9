"""Explain what the next run of a claim set observes and does. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from berthmaster.routing import pod_claim_set_key
from domain.claim_sets.decision import SetStep, set_step
from domain.claim_sets.pod_claim_set import PodClaimSetSpec
from domain.claim_sets.reasons import why
from domain.claim_sets.scale_in import SetMember, first_to_go
from domain.claims.status import Reason
from domain.kubernetes.names import REVISION
from domain.kubernetes.objects import KubeObject
from events.workqueue import KeyState, Workqueue
from workers.claim_sets.observe import ClaimSetObservation, observe
from workers.claim_sets.services import ClaimSetServices
from workers.kube.pod_claim_sets import SetClaims

Json = dict[str, Any]


@dataclass(frozen=True)
class SetClaimRow:
    """A claim of the set.

    Attributes:
        pod: the pod that the claim names, None if it names none.
        revision: the revision of the claim's pod, None if it is unknown.
        current: the claim was created from the set's present template.
        cost: the deletion cost of the claim's pod.

    """

    claim: str
    phase: str
    pod: str | None
    revision: str | None
    current: bool
    ready: bool
    cost: int
    moves: bool
    deleting: bool


@dataclass(frozen=True)
class ClaimSetExplanation:
    """A claim set and its next run.

    Attributes:
        wanted: how many claims the set asks for.
        step: the first step of the next run.
        surge: claims beyond `wanted` during a rollout.
        first: the claim that scaling in takes first, None for none.
        claims: in the order in which scaling in takes them, then those that it leaves alone.

    """

    name: str
    claim_set: KubeObject
    wanted: int
    step: SetStep
    why: Reason
    surge: int
    first: str | None
    claims: tuple[SetClaimRow, ...]
    run: KeyState


def explain_claim_set(
    services: ClaimSetServices, queue: Workqueue, namespace: str, name: str
) -> ClaimSetExplanation | None:
    """Explain a claim set; None if there is no such set.

    Raises KubeError, redis-py's errors, and pydantic's ValidationError for an invalid spec.
    """
    claim_set = services.sets.read(namespace, name)
    if claim_set is None:
        return None
    spec = PodClaimSetSpec.model_validate(claim_set.spec)
    observed = observe(claim_set, spec, SetClaims(services.kube, claim_set), frozenset())
    view, step, going = observed.view, set_step(observed.view), first_to_go(observed.view.live)
    return ClaimSetExplanation(
        name=f"{namespace}/{name}",
        claim_set=claim_set,
        wanted=spec.replicas,
        step=step,
        why=why(view, step),
        surge=max(0, view.surplus) if view.old else 0,
        first=going[0].name if going else None,
        claims=tuple(_rows(observed, going)),
        run=queue.key_state(pod_claim_set_key(namespace, name)),
    )


def _rows(observed: ClaimSetObservation, going: tuple[SetMember, ...]) -> Iterator[SetClaimRow]:
    chosen = {member.name for member in going}
    for member in (*going, *(member for member in observed.view.members if member.name not in chosen)):
        pod = observed.objects[member.name].spec.get("podName") or None
        labels = observed.pods[pod].labels if pod and pod in observed.pods else {}
        yield SetClaimRow(
            claim=member.name,
            phase=member.phase.value,
            pod=pod,
            revision=labels.get(REVISION),
            current=member.current,
            ready=member.ready,
            cost=member.cost,
            moves=member.moves,
            deleting=member.deleting,
        )
