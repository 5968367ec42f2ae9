"""Targets: the addresses of pods in their target groups."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from domain.ports.target import Address
from workers.cloud.aws.tagging import TagCalls
from workers.cloud.driver import RegisteredTarget
from workers.cloud.errors import CloudNotFound

if TYPE_CHECKING:
    from mypy_boto3_elbv2.type_defs import TargetDescriptionTypeDef


class TargetCalls(TagCalls):
    """Registers, deregisters and lists targets."""

    def register(self, target_group_arn: str, targets: Collection[Address]) -> None:
        """Register all in one call."""
        register = self._gateway.client.register_targets
        self._gateway.call(register, TargetGroupArn=target_group_arn, Targets=_descriptions(targets))

    def deregister(self, target_group_arn: str, targets: Collection[Address]) -> None:
        """Deregister all in one call; a group that is gone has no targets."""
        deregister = self._gateway.client.deregister_targets
        try:
            self._gateway.call(deregister, TargetGroupArn=target_group_arn, Targets=_descriptions(targets))
        except CloudNotFound:
            return

    def targets(self, target_group_arn: str) -> list[RegisteredTarget]:
        """All targets of a group with their health."""
        reply = self._gateway.call(self._gateway.client.describe_target_health, TargetGroupArn=target_group_arn)
        return [
            RegisteredTarget(
                row["Target"]["Id"], row["Target"].get("Port", 0), row.get("TargetHealth", {}).get("State", "")
            )
            for row in reply["TargetHealthDescriptions"]
        ]


def _descriptions(targets: Collection[Address]) -> list[TargetDescriptionTypeDef]:
    return [{"Id": ip, "Port": port} for ip, port in targets]
