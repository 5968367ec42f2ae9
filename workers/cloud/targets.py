"""Targets: the addresses of pods in their target groups."""

from __future__ import annotations

from workers.cloud.driver import Target
from workers.cloud.errors import NotFound
from workers.cloud.tagged import Tagged


class Targets(Tagged):
    def register(self, target_group_arn: str, ip: str, port: int) -> None:
        self._gateway.call(
            self._gateway.client.register_targets,
            TargetGroupArn=target_group_arn,
            Targets=[{"Id": ip, "Port": port}],
        )

    def deregister(self, target_group_arn: str, ip: str, port: int) -> None:
        try:
            self._gateway.call(
                self._gateway.client.deregister_targets,
                TargetGroupArn=target_group_arn,
                Targets=[{"Id": ip, "Port": port}],
            )
        except NotFound:
            return

    def targets(self, target_group_arn: str) -> list[Target]:
        told = self._gateway.call(self._gateway.client.describe_target_health, TargetGroupArn=target_group_arn)
        return [
            Target(each["Target"]["Id"], each["Target"].get("Port", 0), each.get("TargetHealth", {}).get("State", ""))
            for each in told["TargetHealthDescriptions"]
        ]
