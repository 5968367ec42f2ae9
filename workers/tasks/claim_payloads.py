"""What may be asked of claims. An error names the field; nothing is half done."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from domain.spec import NAME
from workers.tasks.payloads import Payload


class ReconcilePodClaim(Payload):
    key: Annotated[str, StringConstraints(pattern=rf"^podclaim/{NAME}/{NAME}$")]
    requested: bool = False
    """As for a pod."""


class ReconcilePodClaimSet(Payload):
    key: Annotated[str, StringConstraints(pattern=rf"^podclaimset/{NAME}/{NAME}$")]
    requested: bool = False
    """As for a pod."""
