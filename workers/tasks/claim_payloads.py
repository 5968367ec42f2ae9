"""What may be asked of claims. An error names the field; nothing is half done."""

from __future__ import annotations

from typing import Annotated

from berthmaster.kinds import POD_CLAIM, POD_CLAIM_SET
from workers.tasks.payloads import ReconcileKey, key_of


class ReconcilePodClaim(ReconcileKey):
    key: Annotated[str, key_of(POD_CLAIM)]


class ReconcilePodClaimSet(ReconcileKey):
    key: Annotated[str, key_of(POD_CLAIM_SET)]
