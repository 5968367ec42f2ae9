"""What a run of a claim set sees: the set as it is, then its claims, then their pods; nothing of it from a cache."""

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
class Look:
    """`objects`: its claims by name, and `pods` that carry its label, as they were listed."""

    claim_set: KubeObject
    spec: PodClaimSetSpec
    objects: Mapping[str, KubeObject]
    view: SetView
    pods: Mapping[str, Pod]


def looked(claim_set: KubeObject, spec: PodClaimSetSpec, claims: SetClaims, taken: frozenset[str]) -> Look:
    """`taken`: names that are known to be there, whoever has them."""
    labelled = claims.labelled()
    pods = {pod.name: pod for pod in claims.pods()} if labelled else {}
    objects = {claim.name: claim for claim in labelled if claims.owns(claim)}
    present = template_hash(spec.template)
    members = tuple(member(claim, pods, present) for claim in objects.values())
    others = taken | {claim.name for claim in labelled}
    view = SetView(claim_set.name, spec.replicas, members, recorded(claim_set), others)
    return Look(claim_set, spec, objects, view, pods)


def recorded(claim_set: KubeObject) -> dict[str, str]:
    """Name -> version, of the claims that the set says it removes."""
    told = claim_set.status.get("removing") or ()
    return {name: version for name, _, version in (entry.partition("@") for entry in told)}


def record_of(look: Look, names: tuple[str, ...]) -> list[str]:
    return [f"{name}@{look.objects[name].resource_version}" for name in names]


def member(claim: KubeObject, pods: Mapping[str, Pod], present: str) -> SetMember:
    """`pods` by name; one that does not carry the claim's label is not its own."""
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
    """What is no number costs nothing, as ReplicaSets have it."""
    try:
        return int(text)
    except ValueError:
        return 0
