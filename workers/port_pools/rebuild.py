"""Rebuilds a pool's ledger from annotations and tags, after Redis was lost or replaced, or for a new pool."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable
from functools import partial

import structlog

from berthmaster.errors import TransientError
from berthmaster.routing import pod_key
from domain.kubernetes.names import PORTS
from domain.port_audit.rebuild import Place, RebuildRules, rebuild
from domain.port_pools.port_pool import PortPoolSpec
from domain.ports.pod import PodView
from domain.ports.request import RequestError, parse_ports
from workers.cloud.driver import LoadBalancerApi
from workers.cloud.errors import CloudNotFound
from workers.cloud.priority import Priority
from workers.port_audit.inventory import Inventory, InventoryReader
from workers.port_audit.observe import live_pods
from workers.port_services import PortServices
from workers.ports.listeners.targets import registered_targets
from workers.ports.tenancy import refusal
from workers.run import Run
from workers.scale_up.pool_config import PoolConfig
from workers.stores.ports.codec import encode_owner
from workers.stores.ports.ledger import Ledger
from workers.stores.ports.pool_ledger import PortPoolLedger
from workers.stores.ports.view import owners
from workers.telemetry.port_metrics import count_collision

log = structlog.get_logger()


def rebuild_ledger(services: PortServices, run: Run, pool: str, config: PoolConfig) -> Inventory | None:
    """Rebuild the ledger if that is needed. Returns the inventory of the cloud then, None when the ledger is ready.

    The cloud is listed before the pods, and one script writes the result.
    """
    pool_ledger = PortPoolLedger(services.ledger(pool))
    mark = pool_ledger.begin_rebuild()
    if mark is None:
        return None
    driver = services.driver(config.spec.region).on_behalf_of(run.key, Priority.BIND, run.keep, services.call_time)
    inventory = InventoryReader(driver, services.cluster, pool, config.spec).read()
    pods = list(services.pods.all())
    lbs = {lb.name for lb in inventory.load_balancers}
    rules = RebuildRules(
        services.default_spec,
        config.spec.segment_length,
        partial(_offered, lbs, range(config.spec.start_port, config.spec.end_port + 1)),
        _barred(services, run, pods, config.spec),
        config.spec.max_ports_per_namespace,
    )
    rebuild_with = partial(rebuild, pool, inventory.tagged_listeners, inventory.tagged_groups, pods, rules)
    registered: dict[Place, frozenset[str]] = {}
    rebuilt = rebuild_with(registered)
    while unread := set(rebuilt.doubtful) - registered.keys():  # a pod that is registered may use up a share
        registered |= _registered(services, run, driver, inventory, sorted(unread))
        rebuilt = rebuild_with(registered)
    entries = {name: [entry for entry in held if entry.lb in lbs] for name, held in rebuilt.owners.items()}
    stored = {name: encode_owner(held) for name, held in entries.items() if held}
    if not pool_ledger.stamp(mark, config.spec.start_port, stored):
        raise TransientError(f"the rebuild of pool {pool} was overtaken")
    for lb, port in rebuilt.collisions:
        count_collision(pool, "rebuild")
        log.warning("port_collision", pool=pool, lb=lb, port=port, winner="tag")
    log.info("ledger_rebuilt", pool=pool, owners=len(stored), lbs=len(inventory.load_balancers))
    services.queue.touch([pod_key(*name.split("/")) for name in stored], [pool])
    return inventory


def _barred(services: PortServices, run: Run, pods: Iterable[PodView], spec: PortPoolSpec) -> frozenset[str]:
    """The namespaces that may take no ports of the pool, out of those whose pods publish any."""
    selector = spec.allowed_namespaces
    if selector is None:
        return frozenset()
    namespaces = {pod.namespace for pod in pods if pod.outputs.endpoints}
    return frozenset(name for name in sorted(namespaces) if refusal(services, run, selector, name))


def _registered(
    services: PortServices, run: Run, driver: LoadBalancerApi, inventory: Inventory, places: Iterable[Place]
) -> dict[Place, frozenset[str]]:
    """The targets registered at the places: one call for a precreated port, none for any other."""
    registered = dict.fromkeys(places, frozenset[str]())
    for place in registered:
        _, group = inventory.stock.get(place, ("", ""))
        if group:
            run.keep(services.call_time)
            with contextlib.suppress(CloudNotFound):
                registered[place] = registered_targets(driver, group)
    return registered


def _offered(lbs: Collection[str], ports: range, place: Place) -> bool:
    return place[0] in lbs and place[1] in ports


def touch_owners_without_port(services: PortServices, ledger: Ledger, pool: str) -> None:
    """Mark dirty every pod that asks this pool for ports and holds none.

    Only pods that the publisher follows: nothing would announce the end of any other.
    """
    served = {name for name, entries in owners(ledger) if entries}
    pods = live_pods(services.queue).values()
    waiting = [pod for pod in pods if pod.full_name not in served and _asks(pod, pool, services.default_spec)]
    services.queue.touch([pod_key(pod.namespace, pod.name) for pod in waiting])


def _asks(pod: PodView, pool: str, default_spec: str) -> bool:
    if not pod.wants_ports:
        return False
    try:
        return any(want.pool == pool for want in parse_ports(pod.annotations[PORTS], default_spec))
    except RequestError:
        return False
