"""Tags in AWS's shape, and the question whose something is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from workers.cloud.batches import MOST, existing
from workers.cloud.gateway import Gateway
from workers.cloud.tags import CLUSTER, POOL, UID

if TYPE_CHECKING:
    from mypy_boto3_elbv2.type_defs import TagDescriptionTypeDef, TagTypeDef

IDENTITY: Final = (CLUSTER, POOL, UID)


def aws_tags(tags: Mapping[str, str]) -> list[TagTypeDef]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def same_owner(found: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Whether cluster, pool and pod are the same; other tags may have been changed by people."""
    return all(found.get(key) == wanted.get(key) for key in IDENTITY)


def belongs_to(found: Mapping[str, str], cluster: str, pool: str | None) -> bool:
    return found.get(CLUSTER) == cluster and (pool is None or found.get(POOL) == pool)


class Tagged:
    """Reads and writes tags of load balancers, listeners and target groups by ARN."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def tag(self, arns: Collection[str], tags: Mapping[str, str]) -> None:
        """Adds or changes. Raises NotFound when one of them is gone."""
        wanted = list(arns)
        for start in range(0, len(wanted), MOST):
            batch = wanted[start : start + MOST]
            self._gateway.call(self._gateway.client.add_tags, ResourceArns=batch, Tags=aws_tags(tags))

    def tags_of(self, arns: Iterable[str]) -> dict[str, dict[str, str]]:
        """By ARN; what is gone is left out."""
        return {
            told["ResourceArn"]: {tag["Key"]: tag.get("Value", "") for tag in told.get("Tags", [])}
            for told in existing(arns, self._describe)
        }

    def _describe(self, arns: Sequence[str]) -> list[TagDescriptionTypeDef]:
        return self._gateway.call(self._gateway.client.describe_tags, ResourceArns=arns)["TagDescriptions"]
