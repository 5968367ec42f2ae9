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
from domain.ports.precreate import asks, kind_of, kinds
from domain.ports.same_port import free, in_common, shortest
from domain.ports.steps import AllocateTogether
from domain.ports.want import Want
from workers.cloud.names import load_balancer_name
from workers.port_services import PortServices
from workers.ports.listeners.release import rollback
from workers.ports.observe import World
from workers.ports.tenancy import admitted, capped
from workers.scale_up.request import request_scale_up
from workers.stores.ports.ledger import Candidates, Capped, Granted
from workers.stores.ports.view import view
from workers.telemetry.port_metrics import count_allocation

log = structlog.get_logger()
MOST_TRIES: Final = 8
OVERTAKEN: Final = timedelta(milliseconds=100)


class Together:
    """One run's."""

    def __init__(self, services: PortServices, world: World) -> None:
        self._services, self._world = services, world

    def allocate(self, step: AllocateTogether) -> None:
        """All wants from the same port on. Raises TransientError when others took what was free."""
        world, pools = self._world, [want.pool for want in step.wants]
        if not all(admitted(self._services, world, pool) for pool in pools):
            return
        in_turn = sorted(step.wants)  # by pool: of two that want the same, the first in the first pool goes on
        if not set(pools) <= set(world.run.pools):
            world.run.hold(sorted({*world.run.pools, *pools}))
        seen = {want.pool: world.access(want.pool).candidates(want.ports) for want in step.wants}
        masks = {want.pool: free(self._spec(want), want, seen[want.pool].taken) for want in step.wants}
        if step.port:
            masks = {pool: bits & (1 << step.port) for pool, bits in masks.items()}
        numbers = list(islice(in_common(masks.values()), MOST_TRIES))
        for number in numbers:
            if self._take_all(in_turn, number) or self._closed(pools):
                return
        if numbers:
            raise self._overtaken(pools)
        growing = {want.pool for want in step.wants if self._can_grow(want, seen[want.pool])}
        self._wait(step, shortest(masks, growing), {pool: look.freed for pool, look in seen.items()})

    def _closed(self, pools: list[str]) -> bool:
        """Whether one gives nothing, or nothing more to this namespace: another number would be refused as well."""
        world = self._world
        return any(world.pools[pool].state is not PoolState.ACTIVE or pool in world.full for pool in pools)

    def _overtaken(self, pools: list[str]) -> TransientError:
        return TransientError(f"what pools {' and '.join(pools)} have in common has changed meanwhile", OVERTAKEN)

    def _spec(self, want: Want) -> PortPoolSpec:
        return self._world.config(want.pool).spec

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
                    rollback(self._services, self._world, self._world.entries[place])
                return False
            taken |= got
        for pool, lb, number in sorted(taken):
            log.info("port_allocated", pod=self._world.full_name, pool=pool, port=number, lb=lb)
        return True

    def _take(self, want: Want, port: int) -> set[tuple[str, str, int]] | None:
        world, pool = self._world, want.pool
        assert world.pod
        spec = self._spec(want)
        (asked,) = asks(spec, [want])
        answer = world.access(pool).take(world.pod.uid, asked, ordering(spec.lb_policy), spec.segment_length, port)
        count_allocation(pool, "taken" if answer is None else type(answer).__name__.lower())
        if isinstance(answer, Granted):
            self._wake(answer.woken)
            return world.granted(pool, answer)
        if isinstance(answer, Capped):
            self._wake(answer.woken)
            capped(world, pool, answer, want.ports)
        elif answer:
            world.pools[pool].state = PoolState.PENDING
        return None

    def _wait(self, step: AllocateTogether, short: frozenset[str], looks: dict[str, str]) -> None:
        """In every pool, for a port that becomes free in any may be the one; only what is `short` shall grow."""
        world = self._world
        assert world.pod
        pools = " and ".join(want.pool for want in step.wants)
        world.refusal = f"pools {pools} have no free port in common"
        if step.port:
            world.refusal = f"port {step.port}, which the pod has elsewhere, is not free in {pools}"
        for want in step.wants:
            ports = want.ports if want.pool in short else 0
            count = [ports * (n == kind_of(want.protocol)) for n in (1, 2, 3)]
            count = count if kinds(self._spec(want)) else []
            answer = world.access(want.pool).wait(ports, count, looks[want.pool])
            if answer is None:
                raise self._overtaken([w.pool for w in step.wants])
            self._wake(answer.woken)
            if isinstance(answer, Capped):
                capped(world, want.pool, answer, ports)
                continue
            if want.pool not in world.waiting:
                reason = {"epoch": answer.epoch, "ports": want.ports, "reason": "no_common_port"}
                log.info("allocation_failed", pod=world.full_name, pool=want.pool, **reason)
                uid = world.pod.uid
                self._services.journal.allocation_failed(want.pool, world.full_name, uid, answer.epoch, want.ports)
            world.waiting.add(want.pool)
            world.full.add(want.pool)
            if ports:
                request_scale_up(self._services, want.pool, answer.epoch)

    def _wake(self, names: tuple[str, ...]) -> None:
        if names:
            self._services.queue.touch([pod_key(*name.split("/")) for name in names])
