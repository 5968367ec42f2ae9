"""The definitions of our own kinds: the models of spec and status, and what `kubectl get` shows of an object.

`scripts/crds.py` writes deploy/crds from them, `berthmaster doctor` compares them with what a cluster has. They are
the part of the table of kinds (berthmaster/kinds.py) that needs the models.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from berthmaster.kinds import POD_CLAIM, POD_CLAIM_SET, POD_POOL, PORT_POOL, ResourceKind
from domain.claim_sets import pod_claim_set_rules
from domain.claim_sets.pod_claim_set import PodClaimSetSpec, PodClaimSetStatus
from domain.claims import pod_claim_rules
from domain.claims.pod_claim import PodClaimSpec, PodClaimStatus
from domain.pod_pools import pod_pool_rules
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.pod_pools.status import PodPoolStatus
from domain.port_pools import port_pool_rules
from domain.port_pools.port_pool import PortPoolSpec
from domain.port_pools.status import PortPoolStatus

Validations = list[dict[str, Any]]
"""`x-kubernetes-validations` of a schema."""
Columns = tuple[tuple[str, str, str], ...]
"""Name, type and JSON path of each."""
LABEL: Final = 63
"""Characters that Kubernetes takes as the value of a label."""
LONGEST_NAME: Final = 253
"""Characters that Kubernetes takes as a name."""
AGE: Final = ("Age", "date", ".metadata.creationTimestamp")
READY: Final = '.status.conditions[?(@.type=="Ready")]'


@dataclass(frozen=True)
class NameLimit:
    """What is made for an object with a longer name would be refused."""

    characters: int
    why: str


@dataclass(frozen=True, eq=False)
class Definition:
    """`replicas_path` makes `kubectl scale` work; `nested_validations` are those of a schema within the spec."""

    spec: type[BaseModel]
    status: type[BaseModel]
    validations: Callable[[], Validations]
    columns: Columns
    short_names: tuple[str, ...] = ()
    replicas_path: str | None = None
    name_limit: NameLimit | None = None
    nested_validations: tuple[tuple[tuple[str, ...], Callable[[], Validations]], ...] = ()


DEFINITIONS: Final[dict[ResourceKind, Definition]] = {
    PORT_POOL: Definition(
        PortPoolSpec,
        PortPoolStatus,
        port_pool_rules.validations,
        columns=(
            ("State", "string", ".status.state"),
            ("Ready", "string", f"{READY}.status"),
            ("Reason", "string", f"{READY}.reason"),
            ("Capacity", "integer", ".status.capacity"),
            ("Allocated", "integer", ".status.allocated"),
            ("Waiting", "integer", ".status.waiting"),
            ("LBs", "integer", ".status.loadBalancerCount"),
            ("Epoch", "integer", ".status.epoch"),
            AGE,
        ),
        short_names=("pp",),
    ),
    POD_POOL: Definition(
        PodPoolSpec,
        PodPoolStatus,
        pod_pool_rules.validations,
        columns=(
            ("Pods", "integer", ".status.replicas"),
            ("Ready", "integer", ".status.readyReplicas"),
            ("Reason", "string", f"{READY}.reason"),
            ("Desired", "integer", ".status.desiredReplicas"),
            ("Warm", "integer", ".status.pods.idle"),
            ("Claimed", "integer", ".status.pods.claimed"),
            ("Draining", "integer", ".status.pods.draining"),
            ("Slots-Used", "integer", ".status.slots.used"),
            ("Slots-Reserved", "integer", ".status.slots.reserved"),
            ("Slots-Idle", "integer", ".status.slots.idle"),
            ("Jobs-Waiting", "integer", ".status.waiting"),
            ("Claims-Waiting", "integer", ".status.waitingClaims"),
            AGE,
        ),
        replicas_path=".spec.minReplicas",
        name_limit=NameLimit(LABEL, "its pods have it as a label"),
    ),
    POD_CLAIM: Definition(
        PodClaimSpec,
        PodClaimStatus,
        pod_claim_rules.validations,
        columns=(
            ("Phase", "string", ".status.phase"),
            ("Pool", "string", ".spec.poolName"),
            ("Pod", "string", ".spec.podName"),
            ("Endpoint", "string", ".status.endpoints[0].address"),
            ("Node", "string", ".spec.nodeName"),
            ("Owner", "string", ".spec.ownerName"),
            ("Move", "string", ".status.migration.progress"),
            AGE,
        ),
    ),
    POD_CLAIM_SET: Definition(
        PodClaimSetSpec,
        PodClaimSetStatus,
        pod_claim_set_rules.validations,
        columns=(
            ("Desired", "integer", ".spec.replicas"),
            ("Claims", "integer", ".status.replicas"),
            ("Ready", "integer", ".status.readyReplicas"),
            ("Updated", "integer", ".status.updatedReplicas"),
            AGE,
        ),
        replicas_path=".spec.replicas",
        name_limit=NameLimit(LONGEST_NAME - len("-999999"), "its claims are called by it and a number"),
        nested_validations=((("template", "spec"), pod_claim_rules.of_templates),),  # as a claim is judged
    ),
}


def definition_of(kind: ResourceKind) -> Definition:
    """Raises LookupError for a kind without a definition."""
    if kind not in DEFINITIONS:
        raise LookupError(f"{kind.name} has no definition in domain/definitions.py")
    return DEFINITIONS[kind]
