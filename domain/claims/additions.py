"""Decide which labels of a claim its pod gets, and say why it does not get the others.

A label decides which Services send traffic to a pod, which NetworkPolicies guard it and who owns it. So a claim may
only add labels: it cannot change a label of the pool's template, of Kubernetes or of Berthmaster.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from domain.kubernetes.names import PREFIX

LABELS_APPLIED: Final = "LabelsApplied"
RESERVED: Final = r"^([^/]*[.])?(kubernetes[.]io|k8s[.]io)/"
"""A regular expression for the keys that Kubernetes reserves."""
_DOMAINS: Final = ("kubernetes.io", "k8s.io", PREFIX.rstrip("/"))


@dataclass(frozen=True)
class Additions:
    """The labels that the pod gets. `left_out` maps the key of every other label to the reason."""

    labels: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)

    def in_words(self) -> str:
        """Describe the labels that were left out."""
        return "; ".join(f"label {key} is left out: {why}" for key, why in sorted(self.left_out.items()))


def additions(asked: Mapping[str, str], own: Collection[str]) -> Additions:
    """Split the labels that a claim asks for.

    Args:
        asked: the labels that the claim asks for.
        own: the keys of the labels that the pod has and that no claim added.

    """
    left_out = {key: why for key in asked if (why := _refusal(key, own))}
    return Additions({key: value for key, value in asked.items() if key not in left_out}, left_out)


def _refusal(key: str, own: Collection[str]) -> str | None:
    """Say why a pod does not get a label; None for a label that a claim may add."""
    prefix = key.partition("/")[0] if "/" in key else ""
    if reserved := next((name for name in _DOMAINS if prefix == name or prefix.endswith(f".{name}")), None):
        return f"labels under {reserved} are reserved"
    return "the pod has it from its pool's template" if key in own else None
