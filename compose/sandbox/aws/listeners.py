"""Listeners as a Network Load Balancer has them: one a port, whatever its protocol, and fifty by default."""

from __future__ import annotations

from typing import Any

from moto.elbv2.exceptions import (
    DuplicateListenerError,
    ELBClientError,
    ListenerNotFoundError,
    LoadBalancerNotFoundError,
)
from moto.elbv2.models import FakeListener, FakeLoadBalancer, FakeTargetGroup

from compose.sandbox.aws.core import load_balancer_of
from compose.sandbox.aws.load_balancers import StrictLoadBalancers
from compose.sandbox.aws.refusals import incompatible, invalid, quota, unusable

LAST_PORT = 65535
TARGET_PROTOCOLS = {"TCP": {"TCP", "TCP_UDP"}, "TLS": {"TCP", "TLS"}, "UDP": {"UDP", "TCP_UDP"}, "TCP_UDP": {"TCP_UDP"}}


class StrictListeners(StrictLoadBalancers):
    """The listeners of the strict backend."""

    def create_listener(  # noqa: PLR0913 - moto's signature
        self,
        load_balancer_arn: str,
        protocol: str,
        port: Any,
        ssl_policy: str,
        certificate: str | None,
        actions: list[dict[str, Any]],
        alpn_policy: list[str] | None = None,
        tags: list[dict[str, str]] | None = None,
    ) -> FakeListener:
        """Create a listener. Raises ELBClientError for a used port, a full load balancer, or wrong actions."""
        balancer = self._balancer(load_balancer_arn)
        self._check_port(balancer, port, None)
        self._check_quota(balancer)
        self._check_actions(balancer, protocol, actions)
        self._check_certificate(protocol, certificate)
        self.check_tags({}, tags or [])
        listener = super().create_listener(
            load_balancer_arn, protocol, port, ssl_policy, None, actions, alpn_policy, tags
        )
        listener.certificates = [certificate] if certificate else []
        self.link(listener)
        return listener

    def modify_listener(
        self,
        arn: str,
        port: Any = None,
        protocol: str | None = None,
        ssl_policy: str | None = None,
        certificates: list[dict[str, Any]] | None = None,
        actions: list[dict[str, Any]] | None = None,
    ) -> FakeListener:
        """Change a listener. A new protocol is checked with the certificate of the same call."""
        listener = self._listener(arn)
        balancer = self._balancer(load_balancer_of(arn))
        if port is not None:
            self._check_port(balancer, port, listener)
        carried = [action.data for action in listener.default_actions]
        self._check_actions(balancer, protocol or listener.protocol, actions or carried)
        certificate = certificates[0]["CertificateArn"] if certificates else None
        if certificate or protocol:
            self._check_certificate(protocol or listener.protocol, certificate)
            listener.certificates = [certificate] if certificate else []
        self.unlink(listener)
        changed = super().modify_listener(arn, port, None, ssl_policy, None, actions or [])
        changed.protocol = protocol or changed.protocol
        self.link(changed)
        return changed

    def describe_listeners(self, load_balancer_arn: str | None, listener_arns: list[str]) -> list[FakeListener]:
        """Return the listeners of a load balancer by port, or those with these ARNs. Raises ELBClientError."""
        if load_balancer_arn and listener_arns:
            raise invalid("A load balancer ARN and listener ARNs cannot be specified at the same time")
        if load_balancer_arn:
            return sorted(self._balancer(load_balancer_arn).listeners.values(), key=lambda listener: int(listener.port))
        return [self._listener(arn) for arn in listener_arns]

    def delete_listener(self, listener_arn: str) -> FakeListener:
        """Delete a listener and its tags. Raises ListenerNotFoundError."""
        listener = self._listener(listener_arn)
        del self.load_balancers[load_balancer_of(listener_arn)].listeners[listener_arn]
        self.unlink(listener)
        self.tagging_service.delete_all_tags_for_resource(listener_arn)
        return listener

    def _balancer(self, arn: str) -> FakeLoadBalancer:
        balancer = self.load_balancers.get(arn)
        if balancer is None:
            raise LoadBalancerNotFoundError()
        return balancer

    def _listener(self, arn: str) -> FakeListener:
        balancer = self.load_balancers.get(load_balancer_of(arn))
        if balancer is None or arn not in balancer.listeners:
            raise ListenerNotFoundError()
        return balancer.listeners[arn]

    def _check_port(self, balancer: FakeLoadBalancer, port: Any, but: FakeListener | None) -> None:
        if port is None or not 1 <= int(port) <= LAST_PORT:
            raise invalid(f"Port '{port}' is not between 1 and {LAST_PORT}")
        if any(int(listener.port) == int(port) for listener in balancer.listeners.values() if listener is not but):
            raise DuplicateListenerError()

    def _check_quota(self, balancer: FakeLoadBalancer) -> None:
        limit = self.settings.quotas.listeners_per_load_balancer
        if len(balancer.listeners) >= limit:
            raise quota("TooManyListeners", limit)

    def _check_certificate(self, protocol: str, certificate: str | None) -> None:
        """Check that a TLS listener, and no other, has a certificate. Every ARN of the region counts as existing."""
        if bool(certificate) is not (protocol == "TLS"):
            raise invalid(f"A certificate {'must' if protocol == 'TLS' else 'cannot'} be specified for {protocol}")
        if certificate and not certificate.startswith(f"arn:aws:acm:{self.region_name}:"):
            raise ELBClientError("CertificateNotFound", f"Certificate '{certificate}' not found")

    def _check_actions(self, balancer: FakeLoadBalancer, protocol: str, actions: list[dict[str, Any]]) -> None:
        """Check that each target group exists, fits protocol and VPC, and belongs to no other load balancer."""
        if protocol not in TARGET_PROTOCOLS:
            raise ELBClientError("UnsupportedProtocol", f"Protocol {protocol} is not supported")
        for arn in [arn for action in actions for arn in self._get_target_group_arns_from(action)]:
            group = self.target_groups.get(arn)
            if group is None:
                raise ELBClientError("TargetGroupNotFound", f"Target group '{arn}' not found")
            _check_group(balancer, protocol, group)


def _check_group(balancer: FakeLoadBalancer, protocol: str, group: FakeTargetGroup) -> None:
    if group.protocol not in TARGET_PROTOCOLS[protocol]:
        raise incompatible(f"A {protocol} listener cannot forward to a {group.protocol} target group")
    if group.vpc_id != balancer.vpc_id:
        raise unusable(f"The target group {group.name} is in another VPC than the load balancer {balancer.name}")
    if set(group.load_balancer_arns) - {balancer.arn}:
        raise ELBClientError("TargetGroupAssociationLimit", f"{group.name} is associated with another load balancer")
