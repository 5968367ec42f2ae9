"""Rules over several fields of a PortPool, and its immutable fields (see berthmaster.spec)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from berthmaster.spec import Rule, validation
from domain.port_pools.providers import MOST_LISTENERS

if TYPE_CHECKING:
    from domain.port_pools.port_pool import PortPoolSpec

FIXED: Final = (
    "startPort",
    "endPort",
    "region",
    "vpcId",
    "segmentLength",
    "precreate",
    "targetAddressType",
    "autoCreate.parameters.namePrefix",
)
LONGEST_DRAIN: Final = 3600
"""Seconds; AWS's limit of deregistration_delay.timeout_seconds."""
_PRECREATED: Final = "(self.precreate.tcp + self.precreate.udp + self.precreate.tcpUdp)"
_QUOTA: Final = f"(has(self.listenerQuota) ? self.listenerQuota : {MOST_LISTENERS})"
"""The bound that the API server checks: it does not know a region's provider, whose own bound the model checks."""
RULES: Final[tuple[Rule[PortPoolSpec], ...]] = (
    Rule(
        "endPort",
        "endPort must be greater than startPort",
        "self.endPort > self.startPort",
        lambda spec: spec.end_port <= spec.start_port,
    ),
    Rule(
        "loadBalancers",
        "loadBalancers is empty and autoCreate.enabled is false: the pool would never have a port",
        "self.autoCreate.enabled || size(self.loadBalancers) > 0",
        lambda spec: not spec.load_balancers and not spec.auto_create.enabled,
    ),
    Rule(
        "listenerQuota",
        "listenerQuota is for existing load balancers: it cannot be set while autoCreate.enabled is true",
        "!self.autoCreate.enabled || !has(self.listenerQuota)",
        lambda spec: spec.auto_create.enabled and spec.listener_quota is not None,
    ),
    Rule(
        "autoCreate.parameters.subnets",
        "autoCreate.parameters.subnets is empty: a load balancer needs at least one subnet",
        "!self.autoCreate.enabled || size(self.autoCreate.parameters.subnets) > 0",
        lambda spec: spec.auto_create.enabled and not spec.auto_create.parameters.subnets,
    ),
    Rule(
        "autoCreate.parameters.namePrefix",
        "autoCreate.parameters.namePrefix makes names that begin with internal-, which AWS keeps for itself",
        "!(self.autoCreate.parameters.namePrefix + '-').startsWith('internal-')",
        lambda spec: f"{spec.auto_create.parameters.name_prefix}-".startswith("internal-"),
    ),
    Rule(
        "segmentLength",
        "segmentLength is more than listenerQuota and the range of ports allow: no port could ever be given",
        f"self.segmentLength <= {_QUOTA} && self.segmentLength <= self.endPort - self.startPort + 1",
        lambda spec: spec.segment_length > min(spec.listeners_of_one, spec.range_size),
    ),
    Rule(
        "precreate",
        "precreate asks for more listeners than listenerQuota and the range of ports allow",
        f"{_PRECREATED} <= {_QUOTA} && {_PRECREATED} <= self.endPort - self.startPort + 1",
        lambda spec: spec.precreate.total > min(spec.listeners_of_one, spec.range_size),
    ),
    Rule(
        "precreate",
        "precreate cannot be combined with a segmentLength above 1",
        f"{_PRECREATED} == 0 || self.segmentLength == 1",
        lambda spec: spec.precreate.total > 0 and spec.segment_length > 1,
    ),
    Rule(
        "allowedNamespaces",
        "allowedNamespaces has an expression In or NotIn without values, or another with some: it would never hold",
        "!has(self.allowedNamespaces) || self.allowedNamespaces.matchExpressions.all("
        "each, (each.operator in ['In', 'NotIn']) == (size(each.values) > 0))",
        lambda spec: spec.allowed_namespaces is not None and not spec.allowed_namespaces.complete,
    ),
    Rule(
        "deregistrationDelay",
        "deregistrationDelay is more than the hour that AWS allows",
        "!has(self.deregistrationDelay) || duration(self.deregistrationDelay) <= duration('1h')",
        lambda spec: bool(spec.deregistration_delay) and spec.drain_seconds > LONGEST_DRAIN,
    ),
    Rule(
        "targetAddressType",
        "targetAddressType ipv6 needs autoCreate.parameters.ipAddressType dualstack",
        "self.targetAddressType == 'ipv4' || !self.autoCreate.enabled"
        " || self.autoCreate.parameters.ipAddressType == 'dualstack'",
        lambda spec: (
            spec.target_address_type == "ipv6"
            and spec.auto_create.enabled
            and spec.auto_create.parameters.ip_address_type != "dualstack"
        ),
    ),
)


def validations() -> list[dict[str, Any]]:
    """The `x-kubernetes-validations` of the spec."""
    fixed = ((field, f"self.{field} == oldSelf.{field}") for field in FIXED)
    quota = (
        "has(self.listenerQuota) == has(oldSelf.listenerQuota)"
        " && (!has(self.listenerQuota) || self.listenerQuota == oldSelf.listenerQuota)"
    )
    immutable = [validation(field, rule, f"{field} is immutable") for field, rule in (*fixed, ("listenerQuota", quota))]
    return [*(validation(rule.field, rule.cel, rule.message) for rule in RULES), *immutable]
