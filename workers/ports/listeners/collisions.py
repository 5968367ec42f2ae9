"""A listener stands on a port that the ledger gave to this pod: whose is it, and who gives way?

Ours and of this UID: an earlier try made it. Ours and of another pod that lives and publishes the port: the cloud's
tag wins, the entry moves to that pod. Ours and of nobody: it is deleted, by its ARN, after a fenced script has
confirmed that the port is still this pod's. Not ours: never touched; the port is given up.
"""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import NoReturn

import structlog

from berthmaster.errors import TransientError
from berthmaster.routing import pod_key, port_pool_key
from domain.ports.endpoints import published
from domain.ports.entry import Entry
from workers.cloud.driver import Listener, LoadBalancerApi
from workers.cloud.errors import ListenersFull
from workers.cloud.tags import CLUSTER, OWNER, POOL, UID, WANT
from workers.port_services import PortServices
from workers.ports.observe import World
from workers.stores.ports.pool_ledger import Growth
from workers.telemetry.port_metrics import count_collision

log = structlog.get_logger()


def clear_the_way(services: PortServices, world: World, driver: LoadBalancerApi, entry: Entry) -> str:
    """The ARN of our own listener if an earlier try made it; '' when the entry was given up.

    Raises TransientError: try again.
    """
    found = driver.find_listener(world.carriers[entry.lb].arn, entry.port)
    if found is None:
        raise TransientError(
            f"the listener on port {entry.port} of {entry.lb} went away meanwhile", timedelta(seconds=1)
        )
    if found.tags.get(CLUSTER) != services.cluster or found.tags.get(POOL) != entry.pool:
        give_up(services, world, entry)
        return _without_group(driver, entry)
    if found.tags.get(UID) == entry.uid and found.target_group_arn == entry.target_group:
        return found.arn
    if found.tags.get(UID) != entry.uid and _lives_and_publishes(services, entry, found):
        _give_way(services, world, entry, found)
        return _without_group(driver, entry)
    world.access(entry.pool).confirm(entry)
    driver.delete_listener(found.arn)
    log.info(
        "stale_listener_deleted", lb=entry.lb, port=entry.port, owner=found.tags.get(OWNER, ""), pod=world.full_name
    )
    raise TransientError(f"a stale listener on port {entry.port} of {entry.lb} was deleted", timedelta(0))


def _lives_and_publishes(services: PortServices, entry: Entry, found: Listener) -> bool:
    namespace, _, name = found.tags.get(OWNER, "").partition("/")
    pod = services.pods.read(namespace, name) if name else None
    return bool(pod and pod.uid == found.tags.get(UID) and entry.id in published(pod.outputs.endpoints))


def give_up_with_load_balancer(services: PortServices, world: World, driver: LoadBalancerApi, entry: Entry) -> NoReturn:
    """The load balancer was deleted by hand: the port goes, the pool looks again, and the pod gets one elsewhere."""
    give_up(services, world, entry)
    _without_group(driver, entry)
    Growth(services.ledger(entry.pool)).ask_recheck()
    services.queue.touch([port_pool_key(entry.pool)])
    raise TransientError(f"load balancer {entry.lb} is gone", timedelta(seconds=1))


def is_full(error: Exception) -> bool:
    return isinstance(error, ListenersFull)


def give_up_full(services: PortServices, world: World, driver: LoadBalancerApi, entry: Entry) -> str:
    """Others have filled the load balancer: the pod gets a port elsewhere, and nobody tries here until the audit."""
    woken = world.access(entry.pool).crowded(entry)
    services.queue.touch([pod_key(*name.split("/")) for name in woken])
    world.entries.pop(entry.id)
    count_collision(entry.pool, "full")
    log.warning("load_balancer_full", pod=world.full_name, pool=entry.pool, lb=entry.lb, port=entry.port)
    return _without_group(driver, entry)


def _without_group(driver: LoadBalancerApi, entry: Entry) -> str:
    """The target group that was made for the port is of no use; what fails here, the audit removes."""
    if entry.target_group:
        with contextlib.suppress(TransientError):
            driver.delete_target_group(entry.target_group)
    return ""


def give_up(services: PortServices, world: World, entry: Entry) -> None:
    """A stranger's listener: the port stays taken, the pod gets another one."""
    woken = world.access(entry.pool).foreign(entry)
    services.queue.touch([pod_key(*name.split("/")) for name in woken])
    world.entries.pop(entry.id)
    count_collision(entry.pool, "foreign")
    log.warning("port_is_foreign", pod=world.full_name, pool=entry.pool, lb=entry.lb, port=entry.port)


def _give_way(services: PortServices, world: World, entry: Entry, found: Listener) -> None:
    owner, tags = found.tags[OWNER], found.tags
    want = tags.get(WANT, "")
    told = world.access(entry.pool).give_way(entry, owner, tags[UID], want, found.arn, found.target_group_arn)
    world.entries.pop(entry.id)
    count_collision(entry.pool, "healed")
    services.queue.touch([pod_key(*name.split("/")) for name in (owner, *told)], [entry.pool])
    log.warning("port_given_way", pod=world.full_name, owner=owner, pool=entry.pool, lb=entry.lb, port=entry.port)
