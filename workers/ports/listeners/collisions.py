"""Decides who owns a port that the ledger gave to this pod, and that has a listener already.

- Ours and of this pod's UID: an earlier try made it.
- Ours and of another pod that lives and publishes the port: the tags win, and the entry moves to that pod.
- Ours and of no pod: it is deleted by its ARN, after a fenced script has confirmed that the port is still this pod's.
- Not ours: it is never touched, and the pod gets another port.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from datetime import timedelta
from typing import NoReturn

import structlog

from berthmaster.errors import TransientError
from berthmaster.routing import port_pool_key
from domain.ports.endpoints import published_ids
from domain.ports.entry import Entry
from workers.cloud.driver import Listener, LoadBalancerApi
from workers.cloud.errors import ListenersFull
from workers.cloud.tags import CLUSTER, OWNER, POOL, UID, WANT
from workers.port_services import PortServices
from workers.ports.listeners.rivals import Rival
from workers.ports.listeners.tags import read_owner
from workers.ports.observe import PodObservation
from workers.stores.ports.pool_ledger import PortPoolLedger
from workers.telemetry.port_metrics import count_collision

log = structlog.get_logger()


def resolve_collision(
    services: PortServices, observation: PodObservation, driver: LoadBalancerApi, entry: Entry
) -> str | None:
    """The ARN of our own listener if an earlier try made it, None when the pod gave the port up.

    Raises TransientError when the port is to be tried again.
    """
    listener = driver.find_listener(observation.carriers[entry.lb].arn, entry.port)
    if listener is None:
        raise TransientError(
            f"the listener on port {entry.port} of {entry.lb} went away meanwhile", timedelta(seconds=1)
        )
    if listener.tags.get(CLUSTER) != services.cluster or listener.tags.get(POOL) != entry.pool:
        give_up_foreign(services, observation, entry)
        _delete_unused_group(driver, entry)
        return None
    if listener.tags.get(UID) == entry.uid and listener.target_group_arn == entry.target_group:
        return listener.arn
    if listener.tags.get(UID) != entry.uid and _owner_publishes(services, entry, listener):
        served = replace(entry, listener=listener.arn, target_group=listener.target_group_arn)
        move_entry(
            services, observation, served, Rival(listener.tags[OWNER], listener.tags[UID], listener.tags.get(WANT, ""))
        )
        _delete_unused_group(driver, entry)
        return None
    observation.access(entry.pool).confirm(entry)
    driver.delete_listener(listener.arn)
    place, owner = {"lb": entry.lb, "port": entry.port}, listener.tags.get(OWNER, "")
    log.info("stale_listener_deleted", owner=owner, pod=observation.full_name, **place)
    raise TransientError(f"a stale listener on port {entry.port} of {entry.lb} was deleted", timedelta(0))


def give_up_with_load_balancer(
    services: PortServices, observation: PodObservation, driver: LoadBalancerApi, entry: Entry
) -> NoReturn:
    """Give up a port whose load balancer was deleted by hand: the pool is checked, the pod gets a port elsewhere."""
    give_up_foreign(services, observation, entry)
    _delete_unused_group(driver, entry)
    PortPoolLedger(services.ledger(entry.pool)).ask_recheck()
    services.queue.touch([port_pool_key(entry.pool)])
    raise TransientError(f"load balancer {entry.lb} is gone", timedelta(seconds=1))


def is_full(error: Exception) -> bool:
    """Whether the load balancer takes no more listeners."""
    return isinstance(error, ListenersFull)


def give_up_on_full(services: PortServices, observation: PodObservation, driver: LoadBalancerApi, entry: Entry) -> None:
    """Give up a port of a load balancer that others have filled: no pod tries it again before the next audit."""
    services.wake_pods(observation.access(entry.pool).crowded(entry))
    observation.entries.pop(entry.id)
    count_collision(entry.pool, "full")
    log.warning("load_balancer_full", pod=observation.full_name, pool=entry.pool, lb=entry.lb, port=entry.port)
    _delete_unused_group(driver, entry)


def give_up_foreign(services: PortServices, observation: PodObservation, entry: Entry) -> None:
    """Give up a port with somebody else's listener: it stays taken, and the pod gets another one."""
    services.wake_pods(observation.access(entry.pool).foreign(entry))
    observation.entries.pop(entry.id)
    count_collision(entry.pool, "foreign")
    log.warning("port_is_foreign", pod=observation.full_name, pool=entry.pool, lb=entry.lb, port=entry.port)


def move_entry(services: PortServices, observation: PodObservation, entry: Entry, rival: Rival) -> None:
    """Give the entry, with its ARNs, to the pod that the port serves."""
    run = observation.access(entry.pool)
    woken = run.give_way(entry, rival.owner, rival.uid, rival.want, entry.listener, entry.target_group)
    observation.entries.pop(entry.id)
    count_collision(entry.pool, "healed")
    services.wake_pods((rival.owner, *woken), [entry.pool])
    place = {"pool": entry.pool, "lb": entry.lb, "port": entry.port}
    log.warning("port_given_way", pod=observation.full_name, owner=rival.owner, **place)


def _owner_publishes(services: PortServices, entry: Entry, listener: Listener) -> bool:
    owner = read_owner(listener.tags)
    pod = services.pods.read(*owner) if owner else None
    return bool(pod and pod.uid == listener.tags.get(UID) and entry.id in published_ids(pod.outputs.endpoints))


def _delete_unused_group(driver: LoadBalancerApi, entry: Entry) -> None:
    """Delete the target group that was made for the port. What fails here, the audit removes."""
    if entry.target_group:
        with contextlib.suppress(TransientError):
            driver.delete_target_group(entry.target_group)
