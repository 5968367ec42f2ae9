"""Decide which labels and annotations of a claim its pod gets, and say why it does not get the others.

A label decides which Services send traffic to a pod, which NetworkPolicies guard it and who owns it; annotations
configure what runs beside it. So a claim may only add what its pool allows: it cannot change what the pod has already,
or what belongs to Kubernetes or Berthmaster.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from berthmaster.forms import form
from berthmaster.names import SUBDOMAIN
from domain.kubernetes.names import PREFIX

ADDITIONS_APPLIED: Final = "AdditionsApplied"
RESERVED: Final = r"^([^/]*[.])?(kubernetes[.]io|k8s[.]io)/"
"""A regular expression for the keys that Kubernetes reserves."""
ALLOWED: Final = form(
    f"^({SUBDOMAIN}/[*]|({SUBDOMAIN}/)?[A-Za-z0-9]([A-Za-z0-9._-]{{0,61}}[A-Za-z0-9])?)$",
    "a label's key, or `example.com/*` for every key under example.com",
)
"""A regular expression for an entry of an allow-list: a key, or `example.com/*` for every key under example.com."""
_DOMAINS: Final = ("kubernetes.io", "k8s.io", PREFIX.rstrip("/"))


@dataclass(frozen=True)
class Metadata:
    """Labels and annotations."""

    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.labels or self.annotations)


@dataclass(frozen=True)
class AllowedKeys:
    """The allow-lists of a pool, of entries as in ALLOWED."""

    pool: str = ""
    labels: Collection[str] = ()
    annotations: Collection[str] = ()


@dataclass(frozen=True)
class Additions:
    """What the pod gets. `left_out` has the reason for each other key: `label KEY` or `annotation KEY` -> reason."""

    metadata: Metadata = field(default_factory=Metadata)
    left_out: Mapping[str, str] = field(default_factory=dict)

    def in_words(self) -> str:
        """Describe what was left out."""
        return "; ".join(f"{what} is left out: {why}" for what, why in sorted(self.left_out.items()))


def additions(asked: Metadata, own: Metadata, allowed: AllowedKeys) -> Additions:
    """Split what a claim asks for.

    Args:
        asked: what the claim asks for.
        own: what the pod has and no claim added.
        allowed: what claims may add to pods of the pool.

    """
    way_out = f"pool {allowed.pool} does not allow it; add it to the pool's claims."
    labels = _reasons("label", asked.labels, own.labels, allowed.labels, f"{way_out}allowedPodLabels")
    notes = _reasons(
        "annotation", asked.annotations, own.annotations, allowed.annotations, f"{way_out}allowedPodAnnotations"
    )
    given = Metadata(_given(asked.labels, labels), _given(asked.annotations, notes))
    left_out = {f"label {key}": why for key, why in labels.items()}
    return Additions(given, left_out | {f"annotation {key}": why for key, why in notes.items()})


def _given(asked: Mapping[str, str], reasons: Collection[str]) -> dict[str, str]:
    return {key: value for key, value in asked.items() if key not in reasons}


def _reasons(
    kind: str, asked: Iterable[str], own: Collection[str], allowed: Collection[str], not_allowed: str
) -> dict[str, str]:
    """Say of each key that a pod does not get why; `not_allowed` is the reason for one that the pool does not allow."""
    reasons = {key: _refusal(kind, key, own) or (None if _allows(allowed, key) else not_allowed) for key in asked}
    return {key: why for key, why in reasons.items() if why is not None}


def _allows(allowed: Collection[str], key: str) -> bool:
    return key in allowed or ("/" in key and f"{key.partition('/')[0]}/*" in allowed)


def _refusal(kind: str, key: str, own: Collection[str]) -> str | None:
    """Say why no pool lets a claim add a key; None for one that a pool may allow."""
    prefix = key.partition("/")[0] if "/" in key else ""
    if reserved := next((name for name in _DOMAINS if prefix == name or prefix.endswith(f".{name}")), None):
        return f"{kind}s under {reserved} are reserved"
    return "the pod has it from its pool's template" if key in own else None
