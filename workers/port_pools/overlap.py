"""Finds the pools that use the same load balancers as this one, in their snapshots and ledgers."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from berthmaster.routing import port_pool_key
from domain.port_pools.overlap import Neighbour, conflict
from domain.port_pools.port_pool import PortPoolSpec
from workers.port_services import PortServices
from workers.stores.ports.view import view

Json = dict[str, Any]


def conflict_of(services: PortServices, pool: Json, spec: PortPoolSpec) -> str | None:
    """Why the pool of this snapshot must give no new ports, None when it may."""
    if others := neighbours(services, pool["name"], spec):
        return conflict(_neighbour(services, pool, spec), others)
    return None


def neighbours(services: PortServices, name: str, spec: PortPoolSpec) -> list[Neighbour]:
    """The pools that may share a load balancer with this one: one of the two must name it."""
    snapshots = (_body(services, other) for other in services.pool_names.all() if other != name)
    return [neighbour for body in snapshots if (neighbour := _possible(services, body, spec))]


def _body(services: PortServices, name: str) -> Json:
    snapshot = services.queue.snapshot(port_pool_key(name))
    return {} if snapshot is None or snapshot.gone else snapshot.body


def _possible(services: PortServices, body: Json, mine: PortPoolSpec) -> Neighbour | None:
    """None also for a pool whose spec is invalid: such a spec adds no load balancer to the pool."""
    declared = body.get("spec") or {}
    if not (mine.load_balancers or declared.get("loadBalancers")):
        return None
    try:
        return _neighbour(services, body, PortPoolSpec.model_validate(declared))
    except ValidationError:
        return None


def _neighbour(services: PortServices, body: Json, spec: PortPoolSpec) -> Neighbour:
    lbs = view(services.ledger(body["name"])).load_balancers
    return Neighbour(body["name"], body.get("created", ""), spec, frozenset(lb.arn for lb in lbs if lb.slot >= 0))
