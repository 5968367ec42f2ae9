"""Reconciles one pod's ports: observe, ask the domain, do the step, until it says stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import structlog

from berthmaster.errors import TransientError
from berthmaster.routing import pod_key, port_pool_key, split_key
from domain.outcome import Outcome, Settled, Wait
from domain.port_pools.placement import ordering
from domain.port_pools.port_pool import PoolState
from domain.ports.lifecycle import next_step
from domain.ports.pod import Outputs, PodView
from domain.ports.precreate import asks
from domain.ports.steps import (
    Allocate,
    AllocateTogether,
    Clear,
    Confirm,
    Disable,
    Inherit,
    Leave,
    Look,
    Provision,
    Relabel,
    Release,
    Retain,
    Rollback,
    Show,
    Stop,
)
from workers.kube.errors import translated
from workers.port_services import PortServices
from workers.ports.allocate_same_port import Together
from workers.ports.last_errors import remembered
from workers.ports.listeners.per_pod import Binding
from workers.ports.listeners.release import release, rollback
from workers.ports.listeners.retention import inherit, retain
from workers.ports.observe import PoolAccess, World
from workers.ports.status import PodChanged, publish
from workers.ports.tenancy import admitted, capped
from workers.run import Run
from workers.scale_up.pool_config import decode_config
from workers.scale_up.request import request_scale_up
from workers.stores.ports.ledger import Capped, Closed, Full, NotReady
from workers.telemetry.port_metrics import count_allocation

log = structlog.get_logger()
MOST_STEPS = 1000


class PortsReconciler:
    """Callable with a Run whose key is a pod's."""

    def __init__(self, services: PortServices) -> None:
        self._services = services

    def __call__(self, run: Run) -> Outcome:
        with translated(self._services.events, run.key, run.snapshot), remembered(self._services.troubles, run.key):
            return self._reconcile(run)

    def _reconcile(self, run: Run) -> Outcome:
        """Who finds the pod changed looks at it: its event may be late, or may never come."""
        self._part(run)
        known = self._pod(run)
        try:
            return self._settle(self._observe(run, known, live=run.snapshot is None))
        except PodChanged:
            pod = self._read(run)
            if (pod and pod.version) == (known and known.version):
                raise
            return self._settle(self._observe(run, pod, live=True))

    def _part(self, run: Run) -> None:
        """A pod that lost the label that the publisher selects by lives on, and must not show what others get now."""
        if not (run.snapshot and run.snapshot.gone and run.pools):
            return
        pod, (_, namespace, name) = self._read(run), split_key(run.key)
        if pod and pod.uid == run.snapshot.uid and pod.outputs != Outputs():
            publish(self._services, World(run, namespace, name, pod, live=True), Outputs())

    def _settle(self, world: World) -> Outcome:
        steps = PodSteps(self._services, world)
        for _ in range(MOST_STEPS):
            step = next_step(world.observed())
            if isinstance(step, Stop):
                return self._end(world, step)
            steps.do(step)
        raise TransientError(f"{world.full_name} did not settle in {MOST_STEPS} steps")

    def _observe(self, run: Run, pod: PodView | None, live: bool) -> World:
        _, namespace, name = split_key(run.key)
        world = World(run, namespace, name, pod, live=live, recheck=self._services.recheck)
        world.request(self._services.default_spec, self._services.retain_for)
        for pool in sorted({w.pool for w in world.wants} | set(run.pools)):
            self._open(world, pool)
        if world.wants:
            world.fit()
        return world

    def _pod(self, run: Run) -> PodView | None:
        """No snapshot is no knowledge: then the API server is asked."""
        if run.snapshot is None:
            return self._read(run)
        return None if run.snapshot.gone else PodView.from_snapshot(run.snapshot.version, run.snapshot.body)

    def _read(self, run: Run) -> PodView | None:
        _, namespace, name = split_key(run.key)
        run.keep(self._services.call_time)
        return self._services.pods.read(namespace, name)

    def _open(self, world: World, pool: str) -> None:
        try:
            opened = self._services.ledger(pool).open(world.full_name, world.run.token)
        except NotReady:
            world.pools[pool] = PoolAccess(self._absent(pool))
            return
        config = decode_config(opened.config)
        state = PoolState(opened.state) if config else PoolState.NOT_READY
        world.pools[pool] = PoolAccess(state, opened, config)
        if config and config.conflict:
            world.barred[pool] = f"PortPool {pool} gives no ports: {config.conflict}"
        world.put(opened.entries, pool)
        world.carriers |= opened.carriers
        world.due |= {e.id for e in opened.entries if e.key in opened.due}
        if opened.waits:
            world.waiting.add(pool)

    def _absent(self, pool: str) -> PoolState:
        """A pool without a ledger: not there at all, or about to be rebuilt, which its own run does."""
        key = port_pool_key(pool)
        snapshot = self._services.queue.snapshot(key)
        if snapshot is None or snapshot.gone:
            return PoolState.MISSING
        self._services.queue.touch([key])
        return PoolState.NOT_READY

    def _end(self, world: World, stop: Stop) -> Outcome:
        """A name that holds nothing and waits nowhere needs no record of pools."""
        unknown = any(a.state is PoolState.NOT_READY for a in world.pools.values())
        if world.run.pools and not (world.entries or world.waiting or unknown):
            world.run.hold([])
        tries = world.run.tries + 1 if stop.counted else 0
        return Wait(stop.after, stop.reason, tries) if stop.after else Settled()


class PodSteps:
    """Executes the domain's steps; each leaves in `world` what it has changed."""

    def __init__(self, services: PortServices, world: World) -> None:
        self._services, self._world = services, world
        self._binding = Binding(services, world)
        self._doers: dict[type, Callable[[Any], None]] = {
            Allocate: self._allocate,
            AllocateTogether: Together(services, world).allocate,
            Provision: lambda s: self._binding.provision(s.entry, s.target),
            Disable: lambda s: self._binding.disable(s.entry),
            Look: lambda s: self._binding.look(s.entry),
            Confirm: lambda s: self._binding.confirm(s.entries),
            Retain: lambda s: retain(services, world, s.entry),
            Inherit: self._inherit,
            Relabel: self._binding.relabel,
            Release: lambda s: release(services, world, s.entry),
            Rollback: lambda s: rollback(services, world, s.entry),
            Clear: lambda s: publish(services, world, s.outputs),
            Show: lambda s: publish(services, world, s.outputs),
            Leave: self._leave,
        }

    def do(self, step: Any) -> None:
        self._doers[type(step)](step)

    def _allocate(self, step: Allocate) -> None:
        world, pool, pod = self._world, step.pool, self._world.pod
        assert pod
        if not admitted(self._services, world, pool):
            return
        if pool not in world.run.pools:
            world.run.hold([*world.run.pools, pool])
        spec = world.config(pool).spec
        wants = asks(spec, step.wants)
        answer = world.access(pool).allocate(pod.uid, wants, ordering(spec.lb_policy), spec.segment_length)
        count_allocation(pool, type(answer).__name__.lower())
        if isinstance(answer, Closed):
            world.pools[pool].state = PoolState.PENDING
            return
        self._wake(answer.woken)
        if isinstance(answer, Full):
            self._wait(pool, answer.epoch, sum(w.ports for w in step.wants))
        elif isinstance(answer, Capped):
            capped(world, pool, answer, sum(w.ports for w in step.wants))
        else:
            self._log_allocated(pool, world.granted(pool, answer))

    def _wait(self, pool: str, epoch: str, ports: int) -> None:
        """On the list already, by the same script; one failure of this epoch asks for more load balancers."""
        world = self._world
        assert world.pod
        if pool not in world.waiting:
            log.info(
                "allocation_failed", pod=world.full_name, pool=pool, epoch=epoch, ports=ports, reason="no_free_port"
            )
            self._services.journal.allocation_failed(pool, world.full_name, world.pod.uid, epoch, ports)
        world.waiting.add(pool)
        world.full.add(pool)
        world.refusal = f"pool {pool} has no free port for {ports} of {sum(w.ports for w in world.wants)} wanted"
        request_scale_up(self._services, pool, epoch)

    def _inherit(self, step: Inherit) -> None:
        """Taking over is taking: a namespace that the pool selects no more is handed nothing."""
        if admitted(self._services, self._world, step.entries[0].pool):
            inherit(self._world, step)

    def _leave(self, step: Leave) -> None:
        access = self._world.pools.get(step.pool)
        if access and access.run:
            self._wake(access.run.leave())
        self._world.waiting.discard(step.pool)

    def _wake(self, names: tuple[str, ...]) -> None:
        if names:
            self._services.queue.touch([pod_key(*name.split("/")) for name in names])

    def _log_allocated(self, pool: str, ids: set[tuple[str, str, int]]) -> None:
        for _, lb, port in sorted(ids):
            log.info("port_allocated", pod=self._world.full_name, pool=pool, port=port, lb=lb)
