"""What may be asked of claims. An error names the field; nothing is half done."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from berthmaster.names import NAME
from workers.tasks.payloads import ReconcileKey


class ReconcilePodClaim(ReconcileKey):
    key: Annotated[str, StringConstraints(pattern=rf"^podclaim/{NAME}/{NAME}$")]
    """`podclaim/NAMESPACE/NAME`"""


class ReconcilePodClaimSet(ReconcileKey):
    key: Annotated[str, StringConstraints(pattern=rf"^podclaimset/{NAME}/{NAME}$")]
    """`podclaimset/NAMESPACE/NAME`"""
