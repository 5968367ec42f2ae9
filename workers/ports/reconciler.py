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
from domain.ports.precreate import ledger_requests
from domain.ports.steps import (
    Allocate,
    AllocateSamePort,
    CheckHealth,
    Clear,
    Confirm,
    Disable,
    Inherit,
    LeaveWaitingList,
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
from workers.ports.last_errors import keep_last_error
from workers.ports.listeners.per_pod import Binding
from workers.ports.listeners.release import release, rollback
from workers.ports.listeners.retention import inherit, retain
from workers.ports.observe import PodObservation, PoolAccess
from workers.ports.status import PodChanged, publish
from workers.ports.tenancy import admits, note_cap
from workers.run import Run
from workers.scale_up.pool_config import decode_config
from workers.scale_up.request import ask
from workers.stores.ports.ledger import Capped, Closed, Full, NotReady
from workers.telemetry.port_metrics import count_allocation

log = structlog.get_logger()
MOST_STEPS = 1000


class PortsReconciler:
    """Callable with a Run whose key is a pod's."""

    def __init__(self, services: PortServices) -> None:
        self._services = services

    def __call__(self, run: Run) -> Outcome:
        with (
            translated(self._services.events, run.key, run.snapshot),
            keep_last_error(self._services.troubles, run.key),
        ):
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
            publish(self._services, PodObservation(run, namespace, name, pod, live=True), Outputs())

    def _settle(self, observation: PodObservation) -> Outcome:
        steps = PodSteps(self._services, observation)
        for _ in range(MOST_STEPS):
            step = next_step(observation.observed())
            if isinstance(step, Stop):
                return self._end(observation, step)
            steps.do(step)
        raise TransientError(f"{observation.full_name} did not settle in {MOST_STEPS} steps")

    def _observe(self, run: Run, pod: PodView | None, live: bool) -> PodObservation:
        _, namespace, name = split_key(run.key)
        observation = PodObservation(run, namespace, name, pod, live=live, recheck=self._services.recheck)
        observation.read_request(self._services.default_spec, self._services.retain_for)
        for pool in sorted({w.pool for w in observation.wants} | set(run.pools)):
            self._open(observation, pool)
        if observation.wants:
            observation.fit_request()
        return observation

    def _pod(self, run: Run) -> PodView | None:
        """No snapshot is no knowledge: then the API server is asked."""
        if run.snapshot is None:
            return self._read(run)
        return None if run.snapshot.gone else PodView.from_snapshot(run.snapshot.version, run.snapshot.body)

    def _read(self, run: Run) -> PodView | None:
        _, namespace, name = split_key(run.key)
        run.keep(self._services.call_time)
        return self._services.pods.read(namespace, name)

    def _open(self, observation: PodObservation, pool: str) -> None:
        try:
            opened = self._services.ledger(pool).open(observation.full_name, observation.run.token)
        except NotReady:
            observation.pools[pool] = PoolAccess(self._absent(pool))
            return
        config = decode_config(opened.config)
        state = PoolState(opened.state) if config else PoolState.NOT_READY
        observation.pools[pool] = PoolAccess(state, opened, config)
        if config and config.conflict:
            observation.barred[pool] = f"PortPool {pool} gives no ports: {config.conflict}"
        observation.replace_entries(opened.entries, pool)
        observation.carriers |= opened.carriers
        observation.to_compare |= {e.id for e in opened.entries if e.key in opened.due}
        if opened.waits:
            observation.waiting.add(pool)

    def _absent(self, pool: str) -> PoolState:
        """A pool without a ledger: not there at all, or about to be rebuilt, which its own run does."""
        key = port_pool_key(pool)
        snapshot = self._services.queue.snapshot(key)
        if snapshot is None or snapshot.gone:
            return PoolState.MISSING
        self._services.queue.touch([key])
        return PoolState.NOT_READY

    def _end(self, observation: PodObservation, stop: Stop) -> Outcome:
        """A name that holds nothing and waits nowhere needs no record of pools."""
        unknown = any(a.state is PoolState.NOT_READY for a in observation.pools.values())
        if observation.run.pools and not (observation.entries or observation.waiting or unknown):
            observation.run.hold([])
        tries = observation.run.tries + 1 if stop.counted else 0
        return Wait(stop.after, stop.reason, tries) if stop.after else Settled()


class PodSteps:
    """Executes the domain's steps; each leaves in `observation` what it has changed."""

    def __init__(self, services: PortServices, observation: PodObservation) -> None:
        self._services, self._observation = services, observation
        self._binding = Binding(services, observation)
        self._doers: dict[type, Callable[[Any], None]] = {
            Allocate: self._allocate,
            AllocateSamePort: Together(services, observation).allocate,
            Provision: lambda s: self._binding.provision(s.entry, s.target),
            Disable: lambda s: self._binding.disable(s.entry),
            CheckHealth: lambda s: self._binding.look(s.entry),
            Confirm: lambda s: self._binding.confirm(s.entries),
            Retain: lambda s: retain(services, observation, s.entry),
            Inherit: self._inherit,
            Relabel: self._binding.relabel,
            Release: lambda s: release(services, observation, s.entry),
            Rollback: lambda s: rollback(services, observation, s.entry),
            Clear: lambda s: publish(services, observation, s.outputs),
            Show: lambda s: publish(services, observation, s.outputs),
            LeaveWaitingList: self._leave,
        }

    def do(self, step: Any) -> None:
        self._doers[type(step)](step)

    def _allocate(self, step: Allocate) -> None:
        observation, pool, pod = self._observation, step.pool, self._observation.pod
        assert pod
        if not admits(self._services, observation, pool):
            return
        if pool not in observation.run.pools:
            observation.run.hold([*observation.run.pools, pool])
        spec = observation.config(pool).spec
        wants = ledger_requests(spec, step.wants)
        answer = observation.access(pool).allocate(pod.uid, wants, ordering(spec.lb_policy), spec.segment_length)
        count_allocation(pool, type(answer).__name__.lower())
        if isinstance(answer, Closed):
            observation.pools[pool].state = PoolState.PENDING
            return
        self._wake(answer.woken)
        if isinstance(answer, Full):
            self._wait(pool, answer.epoch, sum(w.ports for w in step.wants))
        elif isinstance(answer, Capped):
            note_cap(observation, pool, answer, sum(w.ports for w in step.wants))
        else:
            self._log_allocated(pool, observation.add_grant(pool, answer))

    def _wait(self, pool: str, epoch: str, ports: int) -> None:
        """On the list already, by the same script; one failure of this epoch asks for more load balancers."""
        observation = self._observation
        assert observation.pod
        if pool not in observation.waiting:
            log.info(
                "allocation_failed",
                pod=observation.full_name,
                pool=pool,
                epoch=epoch,
                ports=ports,
                reason="no_free_port",
            )
            self._services.journal.allocation_failed(pool, observation.full_name, observation.pod.uid, epoch, ports)
        observation.waiting.add(pool)
        observation.full.add(pool)
        observation.refusal = (
            f"pool {pool} has no free port for {ports} of {sum(w.ports for w in observation.wants)} wanted"
        )
        ask(self._services, pool, epoch)

    def _inherit(self, step: Inherit) -> None:
        """Taking over is taking: a namespace that the pool selects no more is handed nothing."""
        if admits(self._services, self._observation, step.entries[0].pool):
            inherit(self._observation, step)

    def _leave(self, step: LeaveWaitingList) -> None:
        access = self._observation.pools.get(step.pool)
        if access and access.run:
            self._wake(access.run.leave())
        self._observation.waiting.discard(step.pool)

    def _wake(self, names: tuple[str, ...]) -> None:
        if names:
            self._services.queue.touch([pod_key(*name.split("/")) for name in names])

    def _log_allocated(self, pool: str, ids: set[tuple[str, str, int]]) -> None:
        for _, lb, port in sorted(ids):
            log.info("port_allocated", pod=self._observation.full_name, pool=pool, port=port, lb=lb)
