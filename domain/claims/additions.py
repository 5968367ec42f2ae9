"""Which labels of a claim its pod gets, and why it does not get the others.

A label decides which Services send traffic to a pod, which NetworkPolicies guard it and who owns it. A claim's author
chooses labels of the claim alone: what the pod has from its pool's template, and what Kubernetes or we say by a label,
stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from domain.kubernetes.names import PREFIX

LABELS_APPLIED: Final = "LabelsApplied"
RESERVED: Final = r"^([^/]*[.])?(kubernetes[.]io|k8s[.]io)/"
"""Keys that Kubernetes keeps for itself, as an expression."""
_DOMAINS: Final = ("kubernetes.io", "k8s.io", PREFIX.rstrip("/"))


@dataclass(frozen=True)
class Additions:
    """`labels` are what the pod gets; `left_out` says of each other label, by its key, why not."""

    labels: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)

    def in_words(self) -> str:
        return "; ".join(f"label {key} is left out: {why}" for key, why in sorted(self.left_out.items()))


def additions(asked: Mapping[str, str], own: Collection[str]) -> Additions:
    """`own`: keys of the labels that the pod has and no claim has added."""
    left_out = {key: why for key in asked if (why := _refusal(key, own))}
    return Additions({key: value for key, value in asked.items() if key not in left_out}, left_out)


def _refusal(key: str, own: Collection[str]) -> str | None:
    """Why a pod does not get a label, None for one that a claim may add."""
    domain = key.partition("/")[0] if "/" in key else ""
    if taken := next((each for each in _DOMAINS if domain == each or domain.endswith(f".{each}")), None):
        return f"labels under {taken} are reserved"
    return "the pod has it from its pool's template" if key in own else None
