"""Target groups of addresses: one a bound port, found again by the name that is derived from its ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from domain.ports.pool import HealthCheck
from workers.cloud.driver import TargetGroup
from workers.cloud.errors import AlreadyExists, ForeignName, NotFound
from workers.cloud.names import OURS
from workers.cloud.tagged import Tagged, aws_tags, belongs_to, same_owner

if TYPE_CHECKING:
    from mypy_boto3_elbv2.literals import ProtocolEnumType
    from mypy_boto3_elbv2.type_defs import TargetGroupTypeDef


class TargetGroups(Tagged):
    def find_target_group(self, name: str) -> TargetGroup | None:
        try:
            told = self._gateway.call(self._gateway.client.describe_target_groups, Names=[name])
        except NotFound:
            return None
        return next(iter(self._tagged_groups(told["TargetGroups"])), None)

    def target_groups_owned(self, cluster: str, pool: str | None = None) -> list[TargetGroup]:
        pages = self._gateway.pages(self._gateway.client.describe_target_groups)
        named = [told for page in pages for told in page["TargetGroups"] if told["TargetGroupName"].startswith(OURS)]
        return [found for found in self._tagged_groups(named) if belongs_to(found.tags, cluster, pool)]

    def ensure_target_group(
        self, name: str, protocol: str, port: int, vpc_id: str, health_check: HealthCheck, tags: Mapping[str, str]
    ) -> str:
        """AWS answers a name that exists with that target group, or with an error if its settings are others."""
        wanted = TargetGroup("", name, protocol, port, vpc_id, tags=tags)
        try:
            return self._create(wanted, health_check)
        except AlreadyExists:
            return self._adopt_or_replace(wanted, health_check)

    def delete_target_group(self, arn: str) -> None:
        try:
            self._gateway.call(self._gateway.client.delete_target_group, TargetGroupArn=arn)
        except NotFound:
            return

    def _create(self, wanted: TargetGroup, health_check: HealthCheck) -> str:
        made = self._gateway.call(
            self._gateway.client.create_target_group,
            Name=wanted.name,
            Protocol=cast("ProtocolEnumType", wanted.protocol),
            Port=wanted.port,
            VpcId=wanted.vpc_id,
            TargetType="ip",
            Tags=aws_tags(wanted.tags),
            **_checked(health_check),
        )
        return made["TargetGroups"][0]["TargetGroupArn"]

    def _adopt_or_replace(self, wanted: TargetGroup, health_check: HealthCheck) -> str:
        """Only the health check of a target group can be changed: whatever else differs needs a new one."""
        found = self.find_target_group(wanted.name)
        if found is None:
            return self._create(wanted, health_check)
        if not same_owner(found.tags, wanted.tags):
            raise ForeignName("CreateTargetGroup", "ForeignName", f"the tags of {wanted.name} are not ours")
        if (found.protocol, found.port, found.vpc_id) != (wanted.protocol, wanted.port, wanted.vpc_id):
            self.delete_target_group(found.arn)
            return self._create(wanted, health_check)
        modify = self._gateway.client.modify_target_group
        self._gateway.call(modify, TargetGroupArn=found.arn, **_checked(health_check))
        return found.arn

    def _tagged_groups(self, told: Iterable[TargetGroupTypeDef]) -> list[TargetGroup]:
        by_arn = {each["TargetGroupArn"]: _target_group(each) for each in told}
        return [replace(by_arn[arn], tags=tags) for arn, tags in self.tags_of(by_arn).items()]


def _checked(health_check: HealthCheck) -> dict[str, Any]:
    """AWS checks every protocol of ours by TCP: a UDP target proves nothing by itself."""
    return {
        "HealthCheckProtocol": "TCP",
        "HealthCheckPort": str(health_check.port) if health_check.port else "traffic-port",
        "HealthCheckIntervalSeconds": health_check.interval_seconds,
        "HealthyThresholdCount": health_check.healthy_threshold,
    }


def _target_group(told: TargetGroupTypeDef) -> TargetGroup:
    return TargetGroup(
        arn=told["TargetGroupArn"],
        name=told["TargetGroupName"],
        protocol=told.get("Protocol", ""),
        port=told.get("Port", 0),
        vpc_id=told.get("VpcId", ""),
        load_balancer_arns=tuple(told.get("LoadBalancerArns", ())),
    )
