"""Observe a claim set: first the set, then its claims, then their pods. Nothing comes from a cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from domain.claim_sets.decision import SetView
from domain.claim_sets.pod_claim_set import PodClaimSetSpec
from domain.claim_sets.scale_in import SetMember
from domain.claims.claim import ClaimPhase
from domain.kubernetes.names import CLAIMED_BY, DELETION_COST, TEMPLATE_HASH
from domain.kubernetes.objects import KubeObject, Pod
from workers.kube.pod_claim_sets import SetClaims, template_hash

NO_POD = Pod({})
PHASES = frozenset(phase.value for phase in ClaimPhase)


@dataclass(frozen=True)
class ClaimSetObservation:
    """What a run read before it decides.

    Attributes:
        objects: the set's claims by name, as they were listed.
        view: the part that decides.
        pods: the pods that carry the set's label, by name, as they were listed.

    """

    claim_set: KubeObject
    spec: PodClaimSetSpec
    objects: Mapping[str, KubeObject]
    view: SetView
    pods: Mapping[str, Pod]


def observe(
    claim_set: KubeObject, spec: PodClaimSetSpec, claims: SetClaims, taken: frozenset[str]
) -> ClaimSetObservation:
    """Read the claims and pods of a set. `taken` are names that exist already, whoever has them."""
    labelled = claims.labelled()
    pods = {pod.name: pod for pod in claims.pods()} if labelled else {}
    objects = {claim.name: claim for claim in labelled if claims.owns(claim)}
    present = template_hash(spec.template)
    members = tuple(member(claim, pods, present) for claim in objects.values())
    others = taken | {claim.name for claim in labelled}
    view = SetView(claim_set.name, spec.replicas, members, recorded(claim_set), others)
    return ClaimSetObservation(claim_set, spec, objects, view, pods)


def recorded(claim_set: KubeObject) -> dict[str, str]:
    """Read which claims the set's status says are removed, name -> version."""
    removing = claim_set.status.get("removing") or ()
    return {name: version for name, _, version in (entry.partition("@") for entry in removing)}


def record_of(observed: ClaimSetObservation, names: tuple[str, ...]) -> list[str]:
    """Write a record of these claims, in the versions that were read."""
    return [f"{name}@{observed.objects[name].resource_version}" for name in names]


def member(claim: KubeObject, pods: Mapping[str, Pod], present: str) -> SetMember:
    """Build the member for a claim. A pod without the claim's label is not the claim's."""
    phase, pod = claim.status.get("phase"), pods.get(claim.spec.get("podName") or "")
    if pod is None or pod.labels.get(CLAIMED_BY) != claim.uid:
        pod = NO_POD
    return SetMember(
        name=claim.name,
        phase=ClaimPhase(phase) if phase in PHASES else ClaimPhase.PENDING,
        created=claim.created,
        has_pod=bool(claim.spec.get("podName")),
        moves=bool(claim.spec.get("sourcePod")),
        deleting=claim.deleting,
        scheduled=pod.node is not None,
        pod_phase=pod.phase,
        ready=pod.ready and not pod.deleting,
        cost=_cost(pod.annotations.get(DELETION_COST, "")),
        current=claim.labels.get(TEMPLATE_HASH) == present,
        version=claim.resource_version,
    )


def _cost(text: str) -> int:
    """Parse a deletion cost. As for ReplicaSets, anything but a number is 0."""
    try:
        return int(text)
    except ValueError:
        return 0
