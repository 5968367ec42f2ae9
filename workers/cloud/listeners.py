"""Listeners: one a port of a load balancer, whatever the protocol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from workers.cloud.driver import Listener
from workers.cloud.errors import NotFound, PortTaken
from workers.cloud.tagged import Tagged, aws_tags

if TYPE_CHECKING:
    from mypy_boto3_elbv2.literals import ProtocolEnumType
    from mypy_boto3_elbv2.type_defs import ListenerTypeDef


class Listeners(Tagged):
    def listeners(self, load_balancer_arn: str) -> list[Listener]:
        return self._tagged_listeners(self._described_listeners(load_balancer_arn))

    def find_listener(self, load_balancer_arn: str, port: int) -> Listener | None:
        """AWS cannot look for a port: the load balancer's listeners are one or two pages."""
        on_port = [each for each in self._described_listeners(load_balancer_arn) if each.port == port]
        return next(iter(self._tagged_listeners(on_port)), None)

    def ensure_listener(
        self,
        load_balancer_arn: str,
        port: int,
        protocol: str,
        target_group_arn: str,
        tags: Mapping[str, str],
        certificate: str = "",
    ) -> str:
        """Raises PortTaken, NotFound (code says load balancer or target group), QuotaExceeded."""
        wanted = Listener("", load_balancer_arn, port, protocol, target_group_arn, tags, certificate)
        try:
            with self._gateway.turn(load_balancer_arn):
                return self._create_listener(wanted)
        except PortTaken:
            return self._made_before(wanted)

    def delete_listener(self, arn: str) -> None:
        try:
            with self._gateway.turn(load_balancer_of(arn)):
                self._gateway.call(self._gateway.client.delete_listener, ListenerArn=arn)
        except NotFound:
            return

    def _create_listener(self, wanted: Listener) -> str:
        made = self._gateway.call(
            self._gateway.client.create_listener,
            LoadBalancerArn=wanted.load_balancer_arn,
            Port=wanted.port,
            Protocol=cast("ProtocolEnumType", wanted.protocol),
            DefaultActions=[{"Type": "forward", "TargetGroupArn": wanted.target_group_arn}],
            Tags=aws_tags(wanted.tags),
            **_certified(wanted.certificate),
        )
        return made["Listeners"][0]["ListenerArn"]

    def _made_before(self, wanted: Listener) -> str:
        """A listener to our own target group is ours: an earlier attempt made it and did not hear the answer."""
        for found in self._described_listeners(wanted.load_balancer_arn):
            if _place(found) == _place(wanted):
                if found.certificate != wanted.certificate:
                    modify = self._gateway.client.modify_listener
                    self._gateway.call(modify, ListenerArn=found.arn, **_certified(wanted.certificate))
                return found.arn
        raise PortTaken("CreateListener", "DuplicateListener", f"port {wanted.port} has another listener")

    def _described_listeners(self, load_balancer_arn: str) -> list[Listener]:
        """Without tags."""
        pages = self._gateway.pages(self._gateway.client.describe_listeners, LoadBalancerArn=load_balancer_arn)
        return [_listener(told) for page in pages for told in page["Listeners"]]

    def _tagged_listeners(self, found: Iterable[Listener]) -> list[Listener]:
        by_arn = {each.arn: each for each in found}
        return [replace(by_arn[arn], tags=tags) for arn, tags in self.tags_of(by_arn).items()]


def load_balancer_of(listener_arn: str) -> str:
    return listener_arn.replace(":listener/", ":loadbalancer/").rpartition("/")[0]


def _place(listener: Listener) -> tuple[int, str, str]:
    return listener.port, listener.protocol, listener.target_group_arn


def _certified(certificate: str) -> dict[str, Any]:
    return {"Certificates": [{"CertificateArn": certificate}]} if certificate else {}


def _listener(told: ListenerTypeDef) -> Listener:
    actions, certificates = told.get("DefaultActions", []), told.get("Certificates", [])
    return Listener(
        arn=told["ListenerArn"],
        load_balancer_arn=told["LoadBalancerArn"],
        port=told["Port"],
        protocol=told["Protocol"],
        target_group_arn=actions[0].get("TargetGroupArn", "") if len(actions) == 1 else "",
        certificate=certificates[0].get("CertificateArn", "") if certificates else "",
    )
