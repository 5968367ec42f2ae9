"""PodClaim: one whole warm pod for one owner, for as long as the claim lives."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Self

from pydantic import Field, model_validator

from berthmaster.claims.answer import ClaimEndpoint
from berthmaster.forms import A_NAME, form
from berthmaster.names import SUBDOMAIN
from berthmaster.spec import Length, Spec, broken_rules, length
from domain.claims.additions import Metadata
from domain.claims.claim import ClaimPhase, PodLossPolicy
from domain.claims.labels import VALUE
from domain.claims.pod_claim_rules import CLAIM_RULES, unreserved
from domain.claims.pod_request import PodRequest
from domain.status import Condition, Shape

PodName = Annotated[str, Field(pattern=form(f"^{SUBDOMAIN}$", A_NAME), max_length=253)]
NodeName = Annotated[str, Field(max_length=253)]
LabelValue = Annotated[str, Field(pattern=VALUE, max_length=63)]
Labels = Annotated[dict[str, LabelValue], Field(max_length=20)]


class SourcePod(Spec):
    """The pod that a claim leaves while it moves to the one that it names."""

    pod_name: Annotated[PodName, Field(description="it is given back once the target is taken")]
    node_name: Annotated[NodeName, Field(description="for people; written beside podName")] = ""


class PodClaimSpec(Spec):
    """What the claim asks for, and the pod that it has, which Berthmaster writes."""

    pool_name: Annotated[
        str,
        Field(
            pattern=form(f"^({SUBDOMAIN})?$", f"{A_NAME}, or empty"),
            max_length=253,
            description="PodPool of the same namespace; any that fits, if empty",
        ),
    ] = ""
    selector: Annotated[Labels, Field(description="labels that the pod must have, with these values")] = {}
    owner_name: Annotated[
        LabelValue, Field(description="label `owner` of the pod; pods that it had last are tried first")
    ] = ""
    additional_pod_labels: Annotated[
        Labels,
        Field(
            description="labels of the pod while it is bound; one that the pool's template has, or that the pool's "
            "claims.allowedPodLabels lacks, is left out",
            json_schema_extra={"x-kubernetes-validations": [unreserved("additionalPodLabels")]},
        ),
    ] = {}
    additional_pod_annotations: Annotated[
        dict[str, Annotated[str, Field(max_length=1024)]],
        Field(
            max_length=20,
            description="annotations of the pod while it is bound; as additionalPodLabels",
            json_schema_extra={"x-kubernetes-validations": [unreserved("additionalPodAnnotations")]},
        ),
    ] = {}
    when_lost: Annotated[
        PodLossPolicy, Field(description="Rebind: takes another pod when its own is lost; Stay: remains Lost")
    ] = PodLossPolicy.REBIND
    ttl: Annotated[
        Length | None,
        Field(
            description="it is deleted so long after its creation or its last renewal, 10s to 8760h; never, if empty"
        ),
    ] = None
    wait_for_ports: Annotated[
        bool, Field(description="it is Bound only once its pod has the ports that the pod asks for")
    ] = True
    pod_name: Annotated[PodName | None, Field(description="its pod; with sourcePod, the pod that it is to move to")] = (
        None
    )
    node_name: Annotated[NodeName, Field(description="node of its pod")] = ""
    source_pod: Annotated[SourcePod | None, Field(description="the pod that it leaves while it moves")] = None

    @property
    def request(self) -> PodRequest:
        """What the claim asks of its pod."""
        return PodRequest(pool=self.pool_name or None, selector=self.selector)

    @property
    def additions(self) -> Metadata:
        """The labels and annotations that the claim asks for."""
        return Metadata(self.additional_pod_labels, self.additional_pod_annotations)

    @property
    def lives(self) -> timedelta | None:
        """How long the claim lives without a renewal, None for a claim that never expires."""
        return None if self.ttl is None else length(self.ttl)

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        if messages := broken_rules(CLAIM_RULES, self):
            raise ValueError("; ".join(messages))
        return self


class Migration(Shape):
    """The progress of a move."""

    source: Annotated[str, Field(description="pod that it leaves")]
    target: Annotated[str, Field(description="pod that it goes to")]
    progress: Annotated[str, Field(description="Asked, TargetTaken, SourceDraining")]


class PodClaimStatus(Shape):
    """What a worker observed last. Only workers write it."""

    phase: ClaimPhase
    observed_generation: Annotated[int, Field(description="metadata.generation that this status is about")]
    bound_time: Annotated[str | None, Field(description="when it got the pod that it names, or had last")] = None
    pod_name: Annotated[str | None, Field(description="the pod that it has")] = None
    node_name: Annotated[str | None, Field(description="node of that pod")] = None
    pod_ips: Annotated[list[str] | None, Field(alias="podIPs", description="addresses of that pod")] = None
    endpoints: Annotated[
        list[ClaimEndpoint] | None,
        Field(description="public endpoints of that pod; none while the claim waits for them"),
    ] = None
    expiry_time: Annotated[str | None, Field(description="when it is deleted unless it is renewed")] = None
    renewed_time: Annotated[str | None, Field(description="when a worker saw its last renewal")] = None
    observed_renewal: Annotated[str | None, Field(description="the text of that renewal")] = None
    migration: Annotated[Migration | None, Field(description="while it moves")] = None
    conditions: list[Condition]
