"""Takes one port number in several pools, or in none (domain/ports/same_port.py says why not by one script)."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice
from typing import Final

import structlog

from berthmaster.errors import TransientError
from berthmaster.routing import pod_key
from domain.port_pools.placement import ordering
from domain.port_pools.port_pool import PoolState, PortPoolSpec
from domain.ports.precreate import kind_of, kinds, ledger_requests
from domain.ports.same_port import common_ports, free_ports_mask, pools_to_grow
from domain.ports.steps import AllocateSamePort
from domain.ports.want import Want
from workers.cloud.names import load_balancer_name
from workers.port_services import PortServices
from workers.ports.listeners.release import rollback
from workers.ports.observe import PodObservation
from workers.ports.tenancy import admits, note_cap
from workers.scale_up.request import ask
from workers.stores.ports.ledger import Candidates, Capped, Granted
from workers.stores.ports.view import view
from workers.telemetry.port_metrics import count_allocation

log = structlog.get_logger()
MOST_TRIES: Final = 8
OVERTAKEN: Final = timedelta(milliseconds=100)


class Together:
    """One run's."""

    def __init__(self, services: PortServices, observation: PodObservation) -> None:
        self._services, self._observation = services, observation

    def allocate(self, step: AllocateSamePort) -> None:
        """All wants from the same port on. Raises TransientError when others took what was free."""
        observation, pools = self._observation, [want.pool for want in step.wants]
        if not all(admits(self._services, observation, pool) for pool in pools):
            return
        in_turn = sorted(step.wants)  # by pool: of two that want the same, the first in the first pool goes on
        if not set(pools) <= set(observation.run.pools):
            observation.run.hold(sorted({*observation.run.pools, *pools}))
        seen = {want.pool: observation.access(want.pool).candidates(want.ports) for want in step.wants}
        masks = {want.pool: free_ports_mask(self._spec(want), want, seen[want.pool].taken) for want in step.wants}
        if step.port:
            masks = {pool: bits & (1 << step.port) for pool, bits in masks.items()}
        numbers = list(islice(common_ports(masks.values()), MOST_TRIES))
        for number in numbers:
            if self._take_all(in_turn, number) or self._closed(pools):
                return
        if numbers:
            raise self._overtaken(pools)
        growing = {want.pool for want in step.wants if self._can_grow(want, seen[want.pool])}
        self._wait(step, pools_to_grow(masks, growing), {pool: look.freed for pool, look in seen.items()})

    def _closed(self, pools: list[str]) -> bool:
        """Whether one gives nothing, or nothing more to this namespace: another number would be refused as well."""
        observation = self._observation
        return any(observation.pools[pool].state is not PoolState.ACTIVE or pool in observation.full for pool in pools)

    def _overtaken(self, pools: list[str]) -> TransientError:
        return TransientError(f"what pools {' and '.join(pools)} have in common has changed meanwhile", OVERTAKEN)

    def _spec(self, want: Want) -> PortPoolSpec:
        return self._observation.config(want.pool).spec

    def _can_grow(self, want: Want, seen: Candidates) -> bool:
        spec = self._spec(want)
        most = spec.auto_create.max_load_balancers if spec.auto_create.enabled else 0
        return seen.created < most and (not spec.lb_blocklist or self._has_name(want.pool, spec, most))

    def _has_name(self, pool: str, spec: PortPoolSpec, most: int) -> bool:
        """Whether a slot is left whose name is not blocked."""
        used = {lb.slot for lb in view(self._services.ledger(pool)).load_balancers}
        prefix, cluster = spec.auto_create.parameters.name_prefix, self._services.cluster
        names = (load_balancer_name(cluster, pool, slot, prefix) for slot in set(range(most)) - used)
        return any(not spec.blocks(name) for name in names)

    def _take_all(self, wants: list[Want], port: int) -> bool:
        """In pool after pool; what was taken is given back when one refuses."""
        taken = set[tuple[str, str, int]]()
        for want in wants:
            got = self._take(want, port)
            if got is None:
                for place in sorted(taken):
                    rollback(self._services, self._observation, self._observation.entries[place])
                return False
            taken |= got
        for pool, lb, number in sorted(taken):
            log.info("port_allocated", pod=self._observation.full_name, pool=pool, port=number, lb=lb)
        return True

    def _take(self, want: Want, port: int) -> set[tuple[str, str, int]] | None:
        observation, pool = self._observation, want.pool
        assert observation.pod
        spec = self._spec(want)
        (asked,) = ledger_requests(spec, [want])
        answer = observation.access(pool).take(
            observation.pod.uid, asked, ordering(spec.lb_policy), spec.segment_length, port
        )
        count_allocation(pool, "taken" if answer is None else type(answer).__name__.lower())
        if isinstance(answer, Granted):
            self._wake(answer.woken)
            return observation.add_grant(pool, answer)
        if isinstance(answer, Capped):
            self._wake(answer.woken)
            note_cap(observation, pool, answer, want.ports)
        elif answer:
            observation.pools[pool].state = PoolState.PENDING
        return None

    def _wait(self, step: AllocateSamePort, short: frozenset[str], looks: dict[str, str]) -> None:
        """In every pool, for a port that becomes free in any may be the one; only what is `short` shall grow."""
        observation = self._observation
        assert observation.pod
        pools = " and ".join(want.pool for want in step.wants)
        observation.refusal = f"pools {pools} have no free port in common"
        if step.port:
            observation.refusal = f"port {step.port}, which the pod has elsewhere, is not free in {pools}"
        for want in step.wants:
            ports = want.ports if want.pool in short else 0
            count = [ports * (n == kind_of(want.protocol)) for n in (1, 2, 3)]
            count = count if kinds(self._spec(want)) else []
            answer = observation.access(want.pool).wait(ports, count, looks[want.pool])
            if answer is None:
                raise self._overtaken([w.pool for w in step.wants])
            self._wake(answer.woken)
            if isinstance(answer, Capped):
                note_cap(observation, want.pool, answer, ports)
                continue
            if want.pool not in observation.waiting:
                reason = {"epoch": answer.epoch, "ports": want.ports, "reason": "no_common_port"}
                log.info("allocation_failed", pod=observation.full_name, pool=want.pool, **reason)
                uid = observation.pod.uid
                self._services.journal.allocation_failed(
                    want.pool, observation.full_name, uid, answer.epoch, want.ports
                )
            observation.waiting.add(want.pool)
            observation.full.add(want.pool)
            if ports:
                ask(self._services, want.pool, answer.epoch)

    def _wake(self, names: tuple[str, ...]) -> None:
        if names:
            self._services.queue.touch([pod_key(*name.split("/")) for name in names])
