"""Network load balancers: found by ARN, name or tag, created or adopted, deleted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from domain.port_pools.load_balancer_spec import LoadBalancerParameters
from workers.cloud.batches import existing
from workers.cloud.driver import LoadBalancer, LoadBalancerState
from workers.cloud.errors import AlreadyExists, ForeignName, NotFound
from workers.cloud.names import may_be_ours
from workers.cloud.tagged import Tagged, aws_tags, belongs_to, same_owner

if TYPE_CHECKING:
    from mypy_boto3_elbv2.type_defs import LoadBalancerTypeDef


class LoadBalancers(Tagged):
    def find_load_balancers(self, arns: Collection[str] = (), names: Collection[str] = ()) -> list[LoadBalancer]:
        return self._tagged_load_balancers([*existing(arns, self._by_arn), *existing(names, self._by_name)])

    def find_owned_load_balancers(self, cluster: str, pool: str | None = None) -> list[LoadBalancer]:
        all_of_ours = self._gateway.shared("load balancers", self._all_load_balancers)
        return [found for found in all_of_ours if belongs_to(found.tags, cluster, pool)]

    def create_load_balancer(
        self, name: str, parameters: LoadBalancerParameters, tags: Mapping[str, str]
    ) -> LoadBalancer:
        """AWS answers a name that exists with that load balancer, or with an error if its settings are others."""
        found = self._created(name, parameters, {**parameters.tags, **tags})
        if not same_owner(found.tags, tags):
            raise ForeignName("CreateLoadBalancer", "ForeignName", f"the tags of {name} are not ours")
        if parameters.cross_zone and len(parameters.subnets) > 1:
            self._gateway.call(
                self._gateway.client.modify_load_balancer_attributes,
                LoadBalancerArn=found.arn,
                Attributes=[{"Key": "load_balancing.cross_zone.enabled", "Value": "true"}],
            )
        return found

    def delete_load_balancer(self, arn: str) -> None:
        """Raises Denied when it is protected against deletion."""
        try:
            with self._gateway.turn(arn):
                self._gateway.call(self._gateway.client.delete_load_balancer, LoadBalancerArn=arn)
        except NotFound:
            return

    def _created(self, name: str, parameters: LoadBalancerParameters, tags: Mapping[str, str]) -> LoadBalancer:
        create = self._gateway.client.create_load_balancer
        try:
            made = self._gateway.call(create, Name=name, Type="network", Tags=aws_tags(tags), **_shape(parameters))
            found = self._tagged_load_balancers(made["LoadBalancers"])
        except AlreadyExists:
            found = self.find_load_balancers(names=[name])
        if not found:
            raise NotFound("CreateLoadBalancer", "LoadBalancerNotFound", f"{name} was deleted meanwhile")
        return found[0]

    def _all_load_balancers(self) -> list[LoadBalancer]:
        return self._tagged_load_balancers(each for each in self._described_load_balancers() if _may_be_ours(each))

    def _by_arn(self, arns: Sequence[str]) -> list[LoadBalancerTypeDef]:
        return self._described_load_balancers(LoadBalancerArns=arns)

    def _by_name(self, names: Sequence[str]) -> list[LoadBalancerTypeDef]:
        return self._described_load_balancers(Names=names)

    def _described_load_balancers(self, **which: Sequence[str]) -> list[LoadBalancerTypeDef]:
        pages = self._gateway.pages(self._gateway.client.describe_load_balancers, **which)
        return [told for page in pages for told in page["LoadBalancers"]]

    def _tagged_load_balancers(self, found: Iterable[LoadBalancerTypeDef]) -> list[LoadBalancer]:
        by_arn = {each["LoadBalancerArn"]: each for each in found}
        tags = self.tags_of(by_arn)
        return [_load_balancer(by_arn[arn], tags[arn]) for arn in by_arn if arn in tags]


def _shape(parameters: LoadBalancerParameters) -> dict[str, Any]:
    """Without security groups the field is left out: AWS takes an empty list as "never any"."""
    groups = {"SecurityGroups": parameters.security_groups} if parameters.security_groups else {}
    return {
        "Scheme": parameters.scheme,
        "Subnets": parameters.subnets,
        "IpAddressType": parameters.ip_address_type,
        **groups,
    }


def _may_be_ours(found: LoadBalancerTypeDef) -> bool:
    return found.get("Type") == "network" and may_be_ours(found["LoadBalancerName"])


def _load_balancer(told: LoadBalancerTypeDef, tags: Mapping[str, str]) -> LoadBalancer:
    return LoadBalancer(
        arn=told["LoadBalancerArn"],
        name=told["LoadBalancerName"],
        dns_name=told.get("DNSName", ""),
        state=LoadBalancerState(told.get("State", {}).get("Code", "active")),
        vpc_id=told.get("VpcId", ""),
        kind=told.get("Type", ""),
        tags=tags,
    )
