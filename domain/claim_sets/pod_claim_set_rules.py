"""Rules between the fields of a PodClaimSet (see berthmaster.spec), and the fields that cannot be changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from berthmaster.spec import Rule, validation
from domain.claims.labels import KEY, LONGEST_PREFIX, proper_key

if TYPE_CHECKING:
    from domain.claim_sets.pod_claim_set import PodClaimSetSpec

SET_RULES: Final[tuple[Rule[PodClaimSetSpec], ...]] = (
    Rule(
        "template.metadata.labels",
        "template.metadata.labels must have the labels of selector: else a set would not know its claims",
        "self.selector.all(key, key in self.template.metadata.labels"
        " && self.template.metadata.labels[key] == self.selector[key])",
        lambda spec: not spec.selector.items() <= spec.template.metadata.labels.items(),
    ),
    Rule(
        "template.metadata.labels",
        "template.metadata.labels has a key that no label can have",
        f"self.template.metadata.labels.all(key, key.matches('{KEY}') && key.matches('{LONGEST_PREFIX}'))",
        lambda spec: not all(map(proper_key, spec.template.metadata.labels)),
    ),
    Rule(
        "template.spec",
        "template.spec must not have podName or sourcePod: each claim finds a pod of its own",
        "!has(self.template.spec.podName) && !has(self.template.spec.sourcePod)",
        lambda spec: spec.template.spec.pod_name is not None or spec.template.spec.source_pod is not None,
    ),
)


def validations() -> list[dict[str, Any]]:
    """Return `x-kubernetes-validations` of the spec."""
    kept = validation("selector", "self.selector == oldSelf.selector", "selector cannot be changed: make another set")
    return [*(validation(rule.field, rule.cel, rule.message) for rule in SET_RULES), kept]
