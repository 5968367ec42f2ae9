"""Target groups of addresses: one a bound port, with a name derived from its ids."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from domain.port_pools.port_pool import HealthCheck
from domain.port_pools.providers import AWS
from workers.cloud.aws.batches import describe_existing
from workers.cloud.aws.tagging import TagCalls, aws_tags
from workers.cloud.driver import GroupSettings, TargetGroup
from workers.cloud.errors import CloudNotFound, ForeignName, NameTaken
from workers.cloud.names import OURS
from workers.cloud.tags import belongs_to, same_owner

if TYPE_CHECKING:
    from mypy_boto3_elbv2.literals import ProtocolEnumType, TargetGroupIpAddressTypeEnumType
    from mypy_boto3_elbv2.type_defs import TargetGroupTypeDef


class TargetGroupCalls(TagCalls):
    """Lists, creates, adopts, replaces and deletes target groups."""

    def find_target_group(self, name: str) -> TargetGroup | None:
        """The target group of that name, with tags."""
        try:
            reply = self._gateway.call(self._gateway.client.describe_target_groups, Names=[name])
        except CloudNotFound:
            return None
        return next(iter(self._tagged_groups(reply["TargetGroups"])), None)

    def find_target_groups(self, arns: Collection[str]) -> list[TargetGroup]:
        """The target groups that exist, with tags."""
        return self._tagged_groups(describe_existing(arns, self._groups_by_arn))

    def target_groups_owned(self, cluster: str, pool: str | None = None) -> list[TargetGroup]:
        """Filter the list of the whole account, which callers share."""
        candidates = self._gateway.shared("target groups", self._all_groups)
        return [group for group in candidates if belongs_to(group.tags, cluster, pool)]

    def ensure_target_group(
        self, name: str, protocol: str, port: int, settings: GroupSettings, tags: Mapping[str, str]
    ) -> str:
        """AWS answers a name that exists with that target group, or with an error if its settings are others."""
        wanted = TargetGroup("", name, protocol, port, settings.vpc_id, tags=tags, address_type=settings.address_type)
        checks = _health_check_parameters(settings.health_check)
        try:
            arn = self._create_group(wanted, checks)
        except NameTaken:
            arn = self._adopt_or_replace(wanted, checks)
        if settings.drain_seconds >= 0:
            self._set_delay(arn, settings.drain_seconds)
        return arn

    def delete_target_group(self, arn: str) -> None:
        """Delete it. Raises Busy while a listener forwards to it."""
        try:
            self._gateway.call(self._gateway.client.delete_target_group, TargetGroupArn=arn)
        except CloudNotFound:
            return

    def _all_groups(self) -> list[TargetGroup]:
        pages = self._gateway.pages(self._gateway.client.describe_target_groups)
        groups = (group for page in pages for group in page["TargetGroups"])
        return self._tagged_groups(group for group in groups if group["TargetGroupName"].startswith(OURS))

    def _create_group(self, wanted: TargetGroup, checks: Mapping[str, Any]) -> str:
        reply = self._gateway.call(
            self._gateway.client.create_target_group,
            Name=wanted.name,
            Protocol=cast("ProtocolEnumType", wanted.protocol),
            Port=wanted.port,
            VpcId=wanted.vpc_id,
            TargetType="ip",
            IpAddressType=cast("TargetGroupIpAddressTypeEnumType", wanted.address_type),
            Tags=aws_tags(wanted.tags),
            **checks,
        )
        return reply["TargetGroups"][0]["TargetGroupArn"]

    def _set_delay(self, arn: str, seconds: int) -> None:
        self._gateway.call(
            self._gateway.client.modify_target_group_attributes,
            TargetGroupArn=arn,
            Attributes=[{"Key": "deregistration_delay.timeout_seconds", "Value": str(seconds)}],
        )

    def _adopt_or_replace(self, wanted: TargetGroup, checks: Mapping[str, Any]) -> str:
        """AWS lets only the health check of a target group change: any other difference needs a new group."""
        existing = self.find_target_group(wanted.name)
        if existing is None:
            return self._create_group(wanted, checks)
        if not same_owner(existing.tags, wanted.tags):
            raise ForeignName("CreateTargetGroup", "ForeignName", f"the tags of {wanted.name} are not ours", AWS.title)
        if _shape(existing) != _shape(wanted):
            self.delete_target_group(existing.arn)
            return self._create_group(wanted, checks)
        self._gateway.call(self._gateway.client.modify_target_group, TargetGroupArn=existing.arn, **checks)
        return existing.arn

    def _groups_by_arn(self, arns: Sequence[str]) -> list[TargetGroupTypeDef]:
        return self._gateway.call(self._gateway.client.describe_target_groups, TargetGroupArns=arns)["TargetGroups"]

    def _tagged_groups(self, descriptions: Iterable[TargetGroupTypeDef]) -> list[TargetGroup]:
        by_arn = {description["TargetGroupArn"]: _target_group(description) for description in descriptions}
        return [replace(by_arn[arn], tags=tags) for arn, tags in self.tags_of(by_arn).items()]


def _shape(group: TargetGroup) -> tuple[object, ...]:
    """The settings that AWS lets nobody change."""
    return group.protocol, group.port, group.vpc_id, group.address_type


LONGEST_CHECK: Final = 10
"""Seconds until a health check times out, AWS's own default."""


def _health_check_parameters(health_check: HealthCheck) -> dict[str, Any]:
    """AWS checks every protocol of ours by TCP: a UDP target proves nothing by itself."""
    return {
        "HealthCheckProtocol": "TCP",
        "HealthCheckPort": str(health_check.port) if health_check.port else "traffic-port",
        "HealthCheckIntervalSeconds": health_check.interval_seconds,
        "HealthCheckTimeoutSeconds": min(LONGEST_CHECK, health_check.interval_seconds),  # AWS: not above the interval
        "HealthyThresholdCount": health_check.healthy_threshold,
    }


def _target_group(description: TargetGroupTypeDef) -> TargetGroup:
    return TargetGroup(
        arn=description["TargetGroupArn"],
        name=description["TargetGroupName"],
        protocol=description.get("Protocol", ""),
        port=description.get("Port", 0),
        vpc_id=description.get("VpcId", ""),
        load_balancer_arns=tuple(description.get("LoadBalancerArns", ())),
        address_type=description.get("IpAddressType", "ipv4"),
    )
