"""Payloads of the tasks of claims and claim sets."""

from __future__ import annotations

from typing import Annotated

from berthmaster.kinds import POD_CLAIM, POD_CLAIM_SET
from workers.tasks.payloads import ReconcileKey, key_of


class ReconcilePodClaim(ReconcileKey):
    """The key of a claim."""

    key: Annotated[str, key_of(POD_CLAIM)]


class ReconcilePodClaimSet(ReconcileKey):
    """The key of a claim set."""

    key: Annotated[str, key_of(POD_CLAIM_SET)]
