"""Who may take ports of a pool, as a run of a pod meets it: the labels of its namespace, and the namespace's share."""

from __future__ import annotations

import structlog

from events.kube_api import Denied
from workers.ports.observe import World
from workers.services import PortServices
from workers.stores.ledger import Capped

log = structlog.get_logger()


def admitted(services: PortServices, world: World, pool: str) -> bool:
    """Whether pods of the namespace may take ports of the pool; what they hold they keep."""
    selector = world.config(pool).spec.allowed_namespaces
    if selector is None:
        return True
    world.run.keep(services.call_time)
    try:
        admits, why = selector.admits(services.namespaces.labels(world.namespace)), "by its labels"
    except Denied:
        admits, why = False, "whose labels may not be read (RBAC: get namespaces)"
    if not admits:
        world.barred[pool] = f"PortPool {pool} is not for namespace {world.namespace}, {why}"
    return admits


def capped(world: World, pool: str, answer: Capped, ports: int) -> None:
    """The namespace has its share: nothing is waited for that would make the pool grow."""
    if pool not in world.waiting:
        log.info("allocation_capped", pod=world.full_name, pool=pool, most=answer.most, used=answer.used, ports=ports)
    world.waiting.add(pool)
    world.full.add(pool)
    world.refusal = (
        f"namespace {world.namespace} holds or waits for {answer.used} of the {answer.most} ports that pool {pool}"
        f" gives a namespace, and {ports} more are asked for"
    )
