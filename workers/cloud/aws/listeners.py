"""Listeners. A port of a load balancer has at most one, whatever its protocol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from domain.port_pools.providers import AWS
from workers.cloud.aws.tagging import TagCalls, aws_tags
from workers.cloud.driver import Listener
from workers.cloud.errors import CloudNotFound, PortTaken

if TYPE_CHECKING:
    from mypy_boto3_elbv2.literals import ProtocolEnumType
    from mypy_boto3_elbv2.type_defs import ListenerTypeDef


class ListenerCalls(TagCalls):
    """Lists, creates, adopts and deletes listeners."""

    def listeners(self, load_balancer_arn: str) -> list[Listener]:
        """All listeners of a load balancer, with tags."""
        return self._tagged_listeners(self._describe_listeners(load_balancer_arn))

    def find_listener(self, load_balancer_arn: str, port: int) -> Listener | None:
        """AWS cannot filter by port: this reads one or two pages of listeners."""
        on_port = [item for item in self._describe_listeners(load_balancer_arn) if item.port == port]
        return next(iter(self._tagged_listeners(on_port)), None)

    def ensure_listener(
        self,
        load_balancer_arn: str,
        port: int,
        protocol: str,
        target_group_arn: str,
        tags: Mapping[str, str],
        certificate: str | None = None,
    ) -> str:
        """Create it under the mutex of its load balancer; a taken port may be that of an earlier attempt."""
        wanted = Listener("", load_balancer_arn, port, protocol, target_group_arn, tags, certificate)
        try:
            with self._gateway.mutex(load_balancer_arn):
                return self._create_listener(wanted)
        except PortTaken:
            return self._adopt_listener(wanted)

    def delete_listener(self, arn: str) -> None:
        """Delete it, under the mutex of its load balancer."""
        try:
            with self._gateway.mutex(load_balancer_of(arn)):
                self._gateway.call(self._gateway.client.delete_listener, ListenerArn=arn)
        except CloudNotFound:
            return

    def _create_listener(self, wanted: Listener) -> str:
        reply = self._gateway.call(
            self._gateway.client.create_listener,
            LoadBalancerArn=wanted.load_balancer_arn,
            Port=wanted.port,
            Protocol=cast("ProtocolEnumType", wanted.protocol),
            DefaultActions=[{"Type": "forward", "TargetGroupArn": wanted.target_group_arn}],
            Tags=aws_tags(wanted.tags),
            **_certificates(wanted.certificate),
        )
        return reply["Listeners"][0]["ListenerArn"]

    def _adopt_listener(self, wanted: Listener) -> str:
        """A listener to our own target group is ours: the answer to the call that created it was lost."""
        for existing in self._describe_listeners(wanted.load_balancer_arn):
            if _route(existing) == _route(wanted):
                if existing.certificate != wanted.certificate:
                    modify = self._gateway.client.modify_listener
                    self._gateway.call(modify, ListenerArn=existing.arn, **_certificates(wanted.certificate))
                return existing.arn
        raise PortTaken("CreateListener", "DuplicateListener", f"port {wanted.port} has another listener", AWS.title)

    def _describe_listeners(self, load_balancer_arn: str) -> list[Listener]:
        """The listeners without their tags."""
        pages = self._gateway.pages(self._gateway.client.describe_listeners, LoadBalancerArn=load_balancer_arn)
        return [_listener(description) for page in pages for description in page["Listeners"]]

    def _tagged_listeners(self, listeners: Iterable[Listener]) -> list[Listener]:
        by_arn = {listener.arn: listener for listener in listeners}
        return [replace(by_arn[arn], tags=tags) for arn, tags in self.tags_of(by_arn).items()]


def load_balancer_of(listener_arn: str) -> str:
    """The ARN of the load balancer that a listener belongs to."""
    return listener_arn.replace(":listener/", ":loadbalancer/").rpartition("/")[0]


def _route(listener: Listener) -> tuple[int, str, str]:
    return listener.port, listener.protocol, listener.target_group_arn


def _certificates(certificate: str | None) -> dict[str, Any]:
    return {"Certificates": [{"CertificateArn": certificate}]} if certificate else {}


def _listener(description: ListenerTypeDef) -> Listener:
    actions, certificates = description.get("DefaultActions", []), description.get("Certificates", [])
    return Listener(
        arn=description["ListenerArn"],
        load_balancer_arn=description["LoadBalancerArn"],
        port=description["Port"],
        protocol=description["Protocol"],
        target_group_arn=actions[0].get("TargetGroupArn", "") if len(actions) == 1 else "",
        certificate=certificates[0].get("CertificateArn") if certificates else None,
    )
