"""Finds network load balancers by ARN, name or tag, creates or adopts them, and deletes them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from domain.port_pools.load_balancer_spec import LoadBalancerParameters
from domain.port_pools.providers import AWS
from workers.cloud.aws.batches import describe_existing
from workers.cloud.aws.tagging import TagCalls, aws_tags
from workers.cloud.driver import LoadBalancer, LoadBalancerState
from workers.cloud.errors import CloudNotFound, ForeignName, LoadBalancerGone, NameTaken
from workers.cloud.names import may_be_ours
from workers.cloud.tags import belongs_to, same_owner

if TYPE_CHECKING:
    from mypy_boto3_elbv2.type_defs import LoadBalancerTypeDef


class LoadBalancerCalls(TagCalls):
    """Lists, creates, adopts and deletes load balancers."""

    def find_load_balancers(self, arns: Collection[str] = (), names: Collection[str] = ()) -> list[LoadBalancer]:
        """The load balancers that exist, with tags."""
        return self._tagged_load_balancers(
            [*describe_existing(arns, self._by_arn), *describe_existing(names, self._by_name)]
        )

    def find_owned_load_balancers(self, cluster: str, pool: str | None = None) -> list[LoadBalancer]:
        """Filter the list of the whole account, which callers share."""
        candidates = self._gateway.shared("load balancers", self._all_load_balancers)
        return [lb for lb in candidates if belongs_to(lb.tags, cluster, pool)]

    def create_load_balancer(
        self, name: str, parameters: LoadBalancerParameters, tags: Mapping[str, str]
    ) -> LoadBalancer:
        """AWS answers a name that exists with that load balancer, or with an error if its settings are others."""
        lb = self._create_or_find(name, parameters, {**parameters.tags, **tags})
        if not same_owner(lb.tags, tags):
            raise ForeignName("CreateLoadBalancer", "ForeignName", f"the tags of {name} are not ours", AWS.title)
        if parameters.cross_zone and len(parameters.subnets) > 1:
            self._gateway.call(
                self._gateway.client.modify_load_balancer_attributes,
                LoadBalancerArn=lb.arn,
                Attributes=[{"Key": "load_balancing.cross_zone.enabled", "Value": "true"}],
            )
        return lb

    def delete_load_balancer(self, arn: str) -> None:
        """Delete it, under its mutex. Raises CloudDenied when it is protected against deletion."""
        try:
            with self._gateway.mutex(arn):
                self._gateway.call(self._gateway.client.delete_load_balancer, LoadBalancerArn=arn)
        except CloudNotFound:
            return

    def _create_or_find(self, name: str, parameters: LoadBalancerParameters, tags: Mapping[str, str]) -> LoadBalancer:
        create = self._gateway.client.create_load_balancer
        try:
            reply = self._gateway.call(create, Name=name, Type="network", Tags=aws_tags(tags), **_shape(parameters))
            lbs = self._tagged_load_balancers(reply["LoadBalancers"])
        except NameTaken:
            lbs = self.find_load_balancers(names=[name])
        if not lbs:
            raise LoadBalancerGone("CreateLoadBalancer", "LoadBalancerNotFound", f"{name} was deleted meanwhile")
        return lbs[0]

    def _all_load_balancers(self) -> list[LoadBalancer]:
        descriptions = self._describe_load_balancers()
        return self._tagged_load_balancers(description for description in descriptions if _may_be_ours(description))

    def _by_arn(self, arns: Sequence[str]) -> list[LoadBalancerTypeDef]:
        return self._describe_load_balancers(LoadBalancerArns=arns)

    def _by_name(self, names: Sequence[str]) -> list[LoadBalancerTypeDef]:
        return self._describe_load_balancers(Names=names)

    def _describe_load_balancers(self, **which: Sequence[str]) -> list[LoadBalancerTypeDef]:
        pages = self._gateway.pages(self._gateway.client.describe_load_balancers, **which)
        return [description for page in pages for description in page["LoadBalancers"]]

    def _tagged_load_balancers(self, descriptions: Iterable[LoadBalancerTypeDef]) -> list[LoadBalancer]:
        by_arn = {description["LoadBalancerArn"]: description for description in descriptions}
        tags = self.tags_of(by_arn)
        return [_load_balancer(by_arn[arn], tags[arn]) for arn in by_arn if arn in tags]


def _shape(parameters: LoadBalancerParameters) -> dict[str, Any]:
    """The field of security groups is left out when there are none: AWS takes an empty list as "never any"."""
    groups = {"SecurityGroups": parameters.security_groups} if parameters.security_groups else {}
    return {
        "Scheme": parameters.scheme,
        "Subnets": parameters.subnets,
        "IpAddressType": parameters.ip_address_type,
        **groups,
    }


def _may_be_ours(description: LoadBalancerTypeDef) -> bool:
    return description.get("Type") == "network" and may_be_ours(description["LoadBalancerName"])


def _load_balancer(description: LoadBalancerTypeDef, tags: Mapping[str, str]) -> LoadBalancer:
    return LoadBalancer(
        arn=description["LoadBalancerArn"],
        name=description["LoadBalancerName"],
        dns_name=description.get("DNSName", ""),
        state=LoadBalancerState(description.get("State", {}).get("Code", "active")),
        vpc_id=description.get("VpcId", ""),
        kind=description.get("Type", ""),
        tags=tags,
    )
