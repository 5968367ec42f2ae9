"""What pods of pools and their claims carry in Kubernetes: labels, annotations, finalizers. See docs/claims.md."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from berthmaster.names import SUBDOMAIN

PREFIX: Final = "berthmaster.dev/"

PHASE: Final = PREFIX + "phase"  # label of a pod: see domain.claims.pod.Phase
CLAIMED_BY: Final = PREFIX + "claimed-by"  # label of a pod: UID of the claim
OWNER: Final = PREFIX + "owner"  # label of a bound pod
LAST_OWNER: Final = PREFIX + "last-owner"  # label of a pod that was given back
CLAIM_SET: Final = PREFIX + "claimset"  # label of a claim and of its pod: UID of the set
TEMPLATE_HASH: Final = PREFIX + "template-hash"  # label of a claim: which template of its set it was made from

GIVEN_BACK: Final = PREFIX + "given-back"  # annotation of a draining pod: `ID TIME` of its drain
DRAIN: Final = PREFIX + "drain"  # annotation: the id of a drain, once its sessions may be counted
SESSIONS: Final = PREFIX + "sessions"  # annotation that the workload writes: `NUMBER ID`
ADDED: Final = PREFIX + "added-labels"  # annotation of a bound pod: JSON, labels that its claim set -> before, or null
TOUCHED: Final = PREFIX + "touched"  # annotation: a claim relies on this pod; whatever was decided before conflicts
CORDON: Final = PREFIX + "cordon"  # annotation `true`: nothing new on this pod
DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"  # annotation, as ReplicaSets have it
SPARED: Final = PREFIX + "spared"  # annotation of a claim that was to be removed and is not: in which version

BOUND_AT: Final = PREFIX + "bound-at"  # annotation of a claim: since when it has the pod that it names, or had last
TARGET_TAKEN: Final = PREFIX + "target-taken"  # annotation of a claim: `SOURCE TARGET`, its move has the target

CLAIM_FINALIZER: Final = PREFIX + "claim"

KEY: Final = f"^({SUBDOMAIN}/)?[A-Za-z0-9]([A-Za-z0-9._-]{{0,61}}[A-Za-z0-9])?$"
LONGEST_PREFIX: Final = "^([^/]{1,253}/)?[^/]+$"
VALUE: Final = "^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$"
"""What Kubernetes takes as the key of a label, and as its value."""


def moment(text: str) -> datetime | None:
    """A time of a known zone, as we write it in annotations; others may have: None for what is none."""
    try:
        told = datetime.fromisoformat(text)
    except ValueError:
        return None
    return told if told.tzinfo else None


def proper_key(key: str) -> bool:
    return bool(re.match(KEY, key) and re.match(LONGEST_PREFIX, key) and not key.endswith("\n"))


def proper_value(value: object) -> bool:
    return isinstance(value, str) and bool(re.match(VALUE, value)) and not value.endswith("\n")
