"""PodClaimSet: a number of claims of one template, each with a warm pod of its own."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from berthmaster.spec import Spec, broken_rules
from domain.claim_sets.pod_claim_set_rules import SET_RULES
from domain.claims.pod_claim import Labels, PodClaimSpec
from domain.status import Condition, Shape


class ClaimMeta(Spec):
    """Metadata of the claims that the set creates."""

    labels: Annotated[Labels, Field(description="those of the set's selector among them")] = {}
    annotations: Annotated[dict[str, str], Field(max_length=50, description="of each claim")] = {}


class ClaimTemplate(Spec):
    """The template of a claim."""

    metadata: ClaimMeta = ClaimMeta()
    spec: Annotated[PodClaimSpec, Field(description="of each claim; without podName and sourcePod")]


class PodClaimSetSpec(Spec):
    """How many claims the set has, and what each asks for."""

    replicas: Annotated[int, Field(ge=0, le=5000, description="claims that there shall be")] = 1
    selector: Annotated[Labels, Field(min_length=1, description="labels of its claims; the template has them")]
    template: ClaimTemplate

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        if messages := broken_rules(SET_RULES, self):
            raise ValueError("; ".join(messages))
        return self


class PodClaimSetStatus(Shape):
    """What a worker observed last. Only workers write it."""

    observed_generation: Annotated[int, Field(description="metadata.generation that this status is about")]
    replicas: Annotated[int, Field(description="claims, those that are being removed left out")]
    ready_replicas: Annotated[int, Field(description="claims with a ready pod")]
    updated_replicas: Annotated[int, Field(description="claims of the present template, on a pod of its present one")]
    label_selector: Annotated[str, Field(description="for kubectl scale and its kin")]
    removing: Annotated[
        list[str], Field(description="claims that are removed next, as NAME@VERSION, written before they are")
    ] = []
    conditions: list[Condition]
