"""What a service that asked for a claim by a task reads about it."""

from __future__ import annotations

from berthmaster.claims.answer import ClaimAnswer
from domain.claims.status import BOUND
from domain.kubernetes.names import REQUESTED
from domain.kubernetes.objects import KubeObject

ANY = "true"
"""In place of the ids of calls: the claim goes only by its name."""


def answer_of(claim: KubeObject) -> ClaimAnswer:
    """Build the answer from a claim's status."""
    why = next((c["message"] for c in claim.conditions if c["type"] in ("Valid", BOUND) and c["status"] == "False"), "")
    calls = claim.annotations.get(REQUESTED, ANY).split()
    about = {"message": why, "calls": None if ANY in calls else tuple(calls), "version": claim.version}
    return ClaimAnswer.model_validate(claim.status | about)
