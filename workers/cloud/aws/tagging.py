"""Reads and writes tags in AWS's shape."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from workers.cloud.aws.batches import BATCH, describe_existing
from workers.cloud.aws.gateway import Gateway

if TYPE_CHECKING:
    from mypy_boto3_elbv2.type_defs import TagDescriptionTypeDef, TagTypeDef


def aws_tags(tags: Mapping[str, str]) -> list[TagTypeDef]:
    """Convert a mapping into AWS's list of keys and values."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


class TagCalls:
    """Tags of load balancers, listeners and target groups, by ARN."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def tag(self, arns: Collection[str], tags: Mapping[str, str]) -> None:
        """Add or change tags. Raises CloudNotFound when one of the resources is gone."""
        resources = list(arns)
        for start in range(0, len(resources), BATCH):
            batch = resources[start : start + BATCH]
            self._gateway.call(self._gateway.client.add_tags, ResourceArns=batch, Tags=aws_tags(tags))

    def tags_of(self, arns: Iterable[str]) -> dict[str, dict[str, str]]:
        """Tags by ARN, without the resources that are gone."""
        return {
            description["ResourceArn"]: {tag["Key"]: tag.get("Value", "") for tag in description.get("Tags", [])}
            for description in describe_existing(arns, self._describe)
        }

    def _describe(self, arns: Sequence[str]) -> list[TagDescriptionTypeDef]:
        return self._gateway.call(self._gateway.client.describe_tags, ResourceArns=arns)["TagDescriptions"]
