"""Targets: the addresses of pods in their target groups."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from domain.ports.target import Address
from workers.cloud.driver import Target
from workers.cloud.errors import NotFound
from workers.cloud.tagged import Tagged

if TYPE_CHECKING:
    from mypy_boto3_elbv2.type_defs import TargetDescriptionTypeDef


class Targets(Tagged):
    def register(self, target_group_arn: str, targets: Collection[Address]) -> None:
        register = self._gateway.client.register_targets
        self._gateway.call(register, TargetGroupArn=target_group_arn, Targets=_described(targets))

    def deregister(self, target_group_arn: str, targets: Collection[Address]) -> None:
        deregister = self._gateway.client.deregister_targets
        try:
            self._gateway.call(deregister, TargetGroupArn=target_group_arn, Targets=_described(targets))
        except NotFound:
            return

    def targets(self, target_group_arn: str) -> list[Target]:
        told = self._gateway.call(self._gateway.client.describe_target_health, TargetGroupArn=target_group_arn)
        return [
            Target(each["Target"]["Id"], each["Target"].get("Port", 0), each.get("TargetHealth", {}).get("State", ""))
            for each in told["TargetHealthDescriptions"]
        ]


def _described(targets: Collection[Address]) -> list[TargetDescriptionTypeDef]:
    return [{"Id": ip, "Port": port} for ip, port in targets]
