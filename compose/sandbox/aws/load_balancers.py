"""Load balancers as AWS has them: idempotent by name, slow to become active, limited in number."""

from __future__ import annotations

import re
from typing import Any

from moto.elbv2.exceptions import DuplicateLoadBalancerName, ELBClientError, LoadBalancerNotFoundError
from moto.elbv2.models import FakeLoadBalancer
from moto.elbv2.utils import make_arn_for_load_balancer
from moto.moto_api._internal import mock_random

from compose.sandbox.aws.core import Core
from compose.sandbox.aws.refusals import invalid, quota, unusable

NAME = re.compile(r"(?!internal-)[A-Za-z0-9](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?")
ARN = re.compile(r"arn:[a-z-]+:elasticloadbalancing:[a-z0-9-]+:[0-9]{12}:loadbalancer/[a-z]+/[A-Za-z0-9-]+/[0-9a-f]+")
MOST_IN_ONE_DESCRIBE = 20


class NetworkLoadBalancer(FakeLoadBalancer):
    """A load balancer that becomes active at `active_at`, a time of Core.now."""

    active_at: float = 0.0

    def settings(self) -> tuple[object, ...]:
        """Return the settings that a second create must repeat: AWS then answers with this load balancer."""
        subnets = frozenset(subnet.id for subnet in self.subnets)
        return self.type, self.scheme, subnets, frozenset(self.security_groups), self.ip_address_type


class StrictLoadBalancers(Core):
    """The load balancers of the strict backend."""

    def create_load_balancer(  # noqa: PLR0913 - moto's signature
        self,
        name: str,
        security_groups: list[str],
        subnet_ids: list[str],
        subnet_mappings: list[dict[str, str]] | None = None,
        scheme: str | None = None,
        loadbalancer_type: str | None = None,
        ip_address_type: str = "ipv4",
        tags: list[dict[str, str]] | None = None,
    ) -> FakeLoadBalancer:
        """Create a load balancer, or return the existing one if its name and settings are equal."""
        if not NAME.fullmatch(name):
            raise invalid(f"The load balancer name '{name}' is not valid")
        requested = self._requested(
            name, security_groups, subnet_ids or [mapping["SubnetId"] for mapping in subnet_mappings or []], scheme
        )
        requested.type, requested.ip_address_type = loadbalancer_type or "application", ip_address_type
        for existing in self.load_balancers.values():
            if existing.name == name:
                return _same(existing, requested)
        limit = self.settings.quotas.load_balancers
        if len(self.load_balancers) >= limit:
            raise quota("TooManyLoadBalancers", limit)
        self.check_tags({}, tags or [])
        self.load_balancers[requested.arn] = requested
        self.tagging_service.tag_resource(requested.arn, tags)
        return requested

    def check_tags(self, existing: dict[str, str], tags: list[dict[str, str]]) -> None:
        """Raise TooManyTags if a resource with the `existing` tags would have too many."""
        limit = self.settings.quotas.tags_per_resource
        if len(existing.keys() | {tag["Key"] for tag in tags}) > limit:
            raise quota("TooManyTags", limit)

    def describe_load_balancers(self, arns: list[str] | None, names: list[str] | None) -> list[FakeLoadBalancer]:
        """Return the named load balancers, or all by name. Raises LoadBalancerNotFoundError if one is missing."""
        if arns and names:
            raise invalid("Load balancer names and load balancer ARNs cannot be specified at the same time")
        if len(arns or names or ()) > MOST_IN_ONE_DESCRIBE:
            raise invalid(f"at most {MOST_IN_ONE_DESCRIBE} load balancers can be described by name or ARN")
        if odd := next((arn for arn in arns or () if not ARN.fullmatch(arn)), None):
            raise invalid(f"'{odd}' is not a valid load balancer ARN")
        for balancer in self.load_balancers.values():
            if isinstance(balancer, NetworkLoadBalancer) and self.now() >= balancer.active_at:
                balancer.activate()
        by_name = {balancer.name: balancer for balancer in self.load_balancers.values()}
        if not arns and not names:
            return [by_name[name] for name in sorted(by_name)]
        balancers = [self.load_balancers.get(arn) for arn in arns or ()] + [by_name.get(name) for name in names or ()]
        if None in balancers:
            raise LoadBalancerNotFoundError()
        return [balancer for balancer in balancers if balancer]

    def delete_load_balancer(self, arn: str) -> None:
        """Delete a load balancer and its listeners. A missing load balancer is no error, as in AWS."""
        balancer = self.load_balancers.get(arn)
        if balancer is None:
            return
        if balancer.attrs["deletion_protection.enabled"] == "true":
            raise ELBClientError("OperationNotPermitted", f"{balancer.name} has deletion protection enabled")
        for listener in balancer.listeners.values():
            self.unlink(listener)
            self.tagging_service.delete_all_tags_for_resource(listener.arn)
        del self.load_balancers[arn]
        self.tagging_service.delete_all_tags_for_resource(arn)

    def _requested(
        self, name: str, security_groups: list[str], subnet_ids: list[str], scheme: str | None
    ) -> NetworkLoadBalancer:
        subnets = self._subnets(subnet_ids)
        for group in security_groups:
            if self.network.get_security_group_from_id(group) is None:
                raise ELBClientError("InvalidSecurityGroup", f"The security group '{group}' does not exist")
        lb_id = mock_random.get_random_hex(16)
        arn = make_arn_for_load_balancer(self.account_id, lb_id, name, self.region_name)
        balancer = NetworkLoadBalancer(  # type: ignore[abstract] # as moto does with its own
            name=name,
            security_groups=security_groups,
            subnets=subnets,
            vpc_id=self.network.get_vpc(subnets[0].vpc_id),
            arn=arn.replace("loadbalancer/app/", "loadbalancer/net/"),
            dns_name=f"{name}-{lb_id}.elb.{self.region_name}.amazonaws.com",
            state="provisioning",
            scheme=scheme or "internet-facing",
        )
        balancer.active_at = self.now() + self.settings.provisioning
        return balancer

    def _subnets(self, subnet_ids: list[str]) -> list[Any]:
        subnets = [self.network.get_subnet(subnet_id) for subnet_id in subnet_ids]
        if not subnets or None in subnets:
            raise ELBClientError("SubnetNotFound", "One or more subnets do not exist")
        if len({subnet.availability_zone for subnet in subnets if subnet}) < len(subnets):
            raise unusable("A load balancer cannot be attached to multiple subnets in the same Availability Zone")
        return subnets


def _same(existing: FakeLoadBalancer, requested: NetworkLoadBalancer) -> FakeLoadBalancer:
    if isinstance(existing, NetworkLoadBalancer) and existing.settings() == requested.settings():
        return existing
    raise DuplicateLoadBalancerName()
