"""What a run of a claim set sees: the set as it is, then its claims, then their pods; nothing of it from a cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from domain.claim_sets.decision import SetView
from domain.claim_sets.pod_claim_set import PodClaimSetSpec
from domain.claim_sets.scale_in import SetMember
from domain.claims.claim import ClaimPhase
from domain.claims.labels import CLAIMED_BY, DELETION_COST, TEMPLATE_HASH
from workers.kube.claimable_pods import is_ready
from workers.kube.pod_claim_sets import SetClaims, template_hash

Json = dict[str, Any]
PHASES = frozenset(phase.value for phase in ClaimPhase)


@dataclass(frozen=True)
class Look:
    """`objects`: its claims by name, and `pods` that carry its label, as they were listed."""

    claim_set: Json
    spec: PodClaimSetSpec
    objects: Mapping[str, Json]
    view: SetView
    pods: Mapping[str, Json]


def looked(claim_set: Json, spec: PodClaimSetSpec, claims: SetClaims, taken: frozenset[str]) -> Look:
    """`taken`: names that are known to be there, whoever has them."""
    labelled = claims.labelled()
    pods = {pod["metadata"]["name"]: pod for pod in claims.pods()} if labelled else {}
    objects = {claim["metadata"]["name"]: claim for claim in labelled if claims.owns(claim)}
    present = template_hash(spec.template)
    members = tuple(member(claim, pods, present) for claim in objects.values())
    others = taken | {claim["metadata"]["name"] for claim in labelled}
    name = claim_set["metadata"]["name"]
    return Look(claim_set, spec, objects, SetView(name, spec.replicas, members, recorded(claim_set), others), pods)


def recorded(claim_set: Json) -> dict[str, str]:
    """Name -> version, of the claims that the set says it removes."""
    told = (claim_set.get("status") or {}).get("removing") or ()
    return {name: version for name, _, version in (entry.partition("@") for entry in told)}


def record_of(look: Look, names: tuple[str, ...]) -> list[str]:
    return [f"{name}@{look.objects[name]['metadata']['resourceVersion']}" for name in names]


def member(claim: Json, pods: Mapping[str, Json], present: str) -> SetMember:
    """`pods` by name; one that does not carry the claim's label is not its own."""
    meta, spec = claim["metadata"], claim.get("spec") or {}
    phase = (claim.get("status") or {}).get("phase")
    pod = pods.get(spec.get("podName") or "")
    if pod is None or (pod["metadata"].get("labels") or {}).get(CLAIMED_BY) != meta["uid"]:
        pod = {"metadata": {}}
    about, status = pod["metadata"], pod.get("status") or {}
    return SetMember(
        name=meta["name"],
        phase=ClaimPhase(phase) if phase in PHASES else ClaimPhase.PENDING,
        created=datetime.fromisoformat(meta["creationTimestamp"]),
        has_pod=bool(spec.get("podName")),
        moves=bool(spec.get("sourcePod")),
        deleting="deletionTimestamp" in meta,
        scheduled=bool((pod.get("spec") or {}).get("nodeName")),
        pod_phase=status.get("phase", "Pending"),
        ready=is_ready(status) and "deletionTimestamp" not in about,
        cost=_cost((about.get("annotations") or {}).get(DELETION_COST, "")),
        current=(meta.get("labels") or {}).get(TEMPLATE_HASH) == present,
        version=meta["resourceVersion"],
    )


def _cost(text: str) -> int:
    """What is no number costs nothing, as ReplicaSets have it."""
    try:
        return int(text)
    except ValueError:
        return 0
