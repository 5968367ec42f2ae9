"""Reconciles one PortPool: validate, rebuild the ledger if Redis was lost, configure it, show the status; or drain and
delete.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial

import orjson
import structlog
from pydantic import ValidationError

from berthmaster.errors import TransientError
from berthmaster.routing import pod_key, port_pool_key, split_key
from domain.outcome import Outcome, Settled, Wait
from domain.port_pools.port_pool import PoolState, PortPoolSpec
from domain.ports.precreate import kinds
from domain.spec_errors import spec_problem
from events.kube import api
from events.kube.api import KubeError, NotFound, refused_so_far
from events.workqueue import Snapshot
from workers.cloud.driver import LoadBalancerApi
from workers.cloud.errors import CloudDenied, CloudInvalid
from workers.cloud.priority import Priority
from workers.kube.errors import translated
from workers.kube.port_pools import FINALIZER
from workers.kube.stale_snapshot import as_it_is
from workers.port_audit.inventory import NOT_FOUND, Cartographer, Inventory
from workers.port_pools.deletion import finalize
from workers.port_pools.overlap import conflict_of, neighbours
from workers.port_pools.precreate import Filling
from workers.port_pools.precreated_cleanup import clear
from workers.port_pools.rebuild import rebuild_ledger, touch_owners_without_port
from workers.port_pools.removal import Removal
from workers.port_pools.status import status_of
from workers.port_services import PortServices
from workers.run import Run
from workers.scale_up.pool_config import PoolConfig, decode_config
from workers.stores.ports.pool_ledger import Growth, PoolLoadBalancer, Span
from workers.stores.ports.pool_notes import PoolNotes
from workers.stores.ports.precreated import Stock
from workers.stores.ports.view import LedgerView, known_arns, owners, view

log = structlog.get_logger()
DRAINING = timedelta(seconds=5)
LISTING = timedelta(seconds=30)  # how long lists of a whole pool may wait for call budget


class PoolsReconciler:
    """Callable with a Run whose key is a pool's."""

    def __init__(self, services: PortServices) -> None:
        self._services = services

    def __call__(self, run: Run) -> Outcome:
        with translated(self._services.events, run.key, run.snapshot):
            _, name = split_key(run.key)
            look, act = partial(self._services.pools.read, name), partial(self._reconcile, run, name)
            return as_it_is(f"PortPool {name}", run.snapshot, look, act)

    def _reconcile(self, run: Run, name: str, pool: Snapshot | None) -> Outcome:
        if pool is None or pool.gone:
            self._services.pool_names.remove(name)
            return Settled()
        return PoolRunSteps(self._services, run, name, pool).outcome()


class PoolRunSteps:
    """One run on one version of one pool."""

    def __init__(self, services: PortServices, run: Run, name: str, pool: Snapshot) -> None:
        self._services, self._run, self._name, self._pool = services, run, name, pool
        self._ledger = services.ledger(name)
        self._growth = Growth(self._ledger)

    def outcome(self) -> Outcome:
        if self._pool.body["deleting"] and FINALIZER not in self._pool.body["finalizers"]:
            self._services.pool_names.remove(self._name)
            return Settled()
        try:
            spec = PortPoolSpec.model_validate(self._pool.body["spec"])
        except ValidationError as error:
            return self._invalid(spec_problem(error))
        conflict = conflict_of(self._services, self._pool.body, spec)
        config = PoolConfig(self._pool.uid, self._pool.body["generation"], spec, conflict)
        try:
            return self._serve(config)
        except (CloudDenied, CloudInvalid) as error:  # nobody but a person can mend it
            self._show(status_of(self._growth, self._pool, config, trouble=f"AWS {error.action}: {error.reason}"))
            raise
        except (api.Denied, api.Invalid):
            self._show_refused(config)
            raise

    def _serve(self, config: PoolConfig) -> Outcome:
        self._services.pool_names.add(self._name)
        if not self._pool.body["deleting"]:
            self._finalizer()
        fresh = rebuild_ledger(self._services, self._run, self._name, config)
        self._configure(config, fresh)
        if config.spec.precreate.total:
            clear(self._ledger, self._driver(config), config.spec)
        if self._pool.body["deleting"]:
            return self._delete(config)
        more = Filling(self._services, self._run, self._name, config.spec).some()
        self._show(status_of(self._growth, self._pool, config))
        if Removal(self._services, self._run, self._name, config).run():
            self._show(status_of(self._growth, self._pool, config))
        return more

    def _show_refused(self, config: PoolConfig) -> None:
        """The status may be what is refused: an Event tells of it in any case."""
        for refused in refused_so_far()[-1:]:
            with suppress(KubeError):
                self._show(status_of(self._growth, self._pool, config, refused=str(refused)))

    def _invalid(self, problem: str) -> Outcome:
        """What the ledger has stays as it is: a mistake in the spec costs no bound port."""
        log.warning("pool_invalid", pool=self._name, reason=problem)
        last = decode_config(self._growth.config())
        if self._pool.body["deleting"]:
            return self._serve(last) if last else self._release_finalizer()
        self._show(status_of(self._growth, self._pool, last, invalid=problem))
        return Settled()

    def _finalizer(self) -> None:
        if FINALIZER not in self._pool.body["finalizers"]:
            self._set_finalizers([*self._pool.body["finalizers"], FINALIZER])

    def _set_finalizers(self, finalizers: list[str]) -> None:
        self._run.keep(self._services.call_time)
        self._pool = self._services.pools.set_finalizers(self._pool, finalizers)
        self._run.saw(self._pool)

    def _configure(self, config: PoolConfig, fresh: Inventory | None) -> None:
        """Costs AWS calls only when the spec is not the one configured, or the ledger was just rebuilt."""
        before, old, state = view(self._ledger), decode_config(self._growth.config()), self._state(config)
        same = before.state == state and old and old.version == config.version
        same = same and not any(lb.capacity and config.spec.blocks(lb.name, lb.arn) for lb in before.load_balancers)
        if not self._growth.must_recheck() and same:
            return
        inventory = fresh or self._inventory(config, before)
        span = Span(config.spec.start_port, len(config.spec.ports), kinds(config.spec))
        lbs = inventory.load_balancers + _left_behind(before, inventory, Stock(self._ledger).carriers())
        woken = self._growth.configure(before.epoch, state, config.encoded(), span, lbs)
        if woken is None:
            raise TransientError(f"the capacity of pool {self._name} changed meanwhile", timedelta(0))
        unusable = inventory.unusable | dict.fromkeys(_vanished(before, inventory), NOT_FOUND)
        log.info("pool_configured", pool=self._name, state=state, lbs=len(lbs), unusable=unusable)
        PoolNotes(self._growth.redis, self._growth.prefix).put_unusable(unusable)
        for arn, why in unusable.items():
            self._tell_unusable(arn, why)
        for lb in _taken_out(before, old, config):
            message = f"load balancer {lb.name} is not in the pool any more; it keeps {lb.used} ports in use"
            once = f"{lb.arn}/{config.generation}"
            self._services.events.pool(self._name, self._pool.uid, "LoadBalancerTakenOut", message, once)
        self._services.queue.touch([pod_key(*name.split("/")) for name in woken])
        sharing = neighbours(self._services, self._name, config.spec)
        self._services.queue.touch([port_pool_key(other.name) for other in sharing])  # one of the two may give way
        if not (fresh and state is PoolState.DELETING):  # each would touch the pool, which would rebuild and go again
            touch_owners_without_port(self._services, self._ledger, self._name)

    def _state(self, config: PoolConfig) -> PoolState:
        if self._pool.body["deleting"]:
            return PoolState.DELETING
        return PoolState.PENDING if config.conflict else PoolState.ACTIVE

    def _tell_unusable(self, arn: str, why: str) -> None:
        reason = "LoadBalancerNotFound" if why == NOT_FOUND else "LoadBalancerUnusable"
        message, once = f"load balancer {arn}: {why}", f"{arn}/{why}"
        self._services.events.pool(self._name, self._pool.uid, reason, message, once, warning=True)

    def _inventory(self, config: PoolConfig, before: LedgerView) -> Inventory:
        held = (entry for _, entries in owners(self._ledger) for entry in entries)
        known = known_arns(before.load_balancers, held, Stock(self._ledger).all().values())
        cartographer = Cartographer(self._driver(config), self._services.cluster, self._name, config.spec, known)
        return cartographer.take(with_groups=False)

    def _driver(self, config: PoolConfig) -> LoadBalancerApi:
        driver = self._services.driver(config.spec.region)
        return driver.on_behalf_of(self._run.key, Priority.REPAIR, self._run.keep, LISTING)

    def _delete(self, config: PoolConfig) -> Outcome:
        """Drain, then remove only what is ours. Pods that hold ports keep them until they end or ask for less."""
        if left := finalize(self._services, self._driver(config), self._name, config.spec, self._growth):
            self._show(status_of(self._growth, self._pool, config, left=left))
            return Wait(DRAINING, left)
        return self._release_finalizer()

    def _release_finalizer(self) -> Outcome:
        if FINALIZER in self._pool.body["finalizers"]:
            with suppress(NotFound):  # it is gone already, and the news of it on the way
                self._set_finalizers([f for f in self._pool.body["finalizers"] if f != FINALIZER])
        self._services.pool_names.remove(self._name)
        self._services.shown.forget(self._ledger.prefix)
        return Settled()

    def _show(self, status: dict[str, object]) -> None:
        text = orjson.dumps([self._run.history, self._pool.uid, status])
        if self._services.shown.get(self._ledger.prefix) == text:
            return
        self._run.keep(self._services.call_time)
        self._pool = self._services.pools.set_status(self._pool, status)
        self._run.saw(self._pool)
        self._services.shown.put(self._ledger.prefix, text)


def _vanished(before: LedgerView, inventory: Inventory) -> list[str]:
    """ARNs of created load balancers that gave ports and that AWS does not have any more."""
    now = {lb.name for lb in inventory.load_balancers}
    return [lb.arn for lb in before.load_balancers if lb.slot >= 0 and lb.capacity and lb.name not in now]


def _left_behind(before: LedgerView, inventory: Inventory, stocked: set[str]) -> list[PoolLoadBalancer]:
    """Load balancers that the pool has no more, with ports of pods or listeners of ours: they give no new ports."""
    now = {lb.name for lb in inventory.load_balancers}
    left = (lb for lb in before.load_balancers if lb.used or lb.retiring or lb.name in stocked)
    return [replace(lb, capacity=0) for lb in left if lb.name not in now]


def _taken_out(before: LedgerView, old: PoolConfig | None, config: PoolConfig) -> list[PoolLoadBalancer]:
    """Existing load balancers that the spec named until now."""
    gone = set(old.spec.load_balancers if old else ()) - set(config.spec.load_balancers)
    return [lb for lb in before.load_balancers if lb.arn in gone]
