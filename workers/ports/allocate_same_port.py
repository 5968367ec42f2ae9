"""Takes one port number in several pools, or in none. domain/ports/same_port.py says why that is not one script."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from itertools import islice
from typing import Final

from berthmaster.errors import TransientError
from domain.port_pools.placement import ordering
from domain.port_pools.port_pool import PoolState, PortPoolSpec
from domain.ports.holding import EntryId
from domain.ports.precreate import kind_of, kinds, ledger_requests
from domain.ports.same_port import common_ports, free_ports_mask, pools_to_grow
from domain.ports.steps import AllocateSamePort
from domain.ports.want import Want
from workers.cloud.names import load_balancer_name
from workers.port_services import PortServices
from workers.ports.allocate import log_allocated, note_failure, rollback
from workers.ports.observe import PodObservation
from workers.ports.tenancy import admits, note_cap
from workers.scale_up.request import request_scale_up
from workers.stores.ports.ledger import Candidates, Capped, Granted
from workers.stores.ports.view import view
from workers.telemetry.port_metrics import count_allocation

MAX_TRIES: Final = 8
OVERTAKEN: Final = timedelta(milliseconds=100)


class SamePortAllocation:
    """Takes the same port in several pools on behalf of one run."""

    def __init__(self, services: PortServices, observation: PodObservation) -> None:
        self._services, self._observation = services, observation

    def allocate(self, step: AllocateSamePort) -> None:
        """Take all wants from the same port on. Raises TransientError when others took what was free."""
        run, pools = self._observation.run, [want.pool for want in step.wants]
        if not all(admits(self._services, self._observation, pool) for pool in pools):
            return
        if not set(pools) <= set(run.pools):
            run.hold(sorted({*run.pools, *pools}))
        candidates = {want.pool: self._observation.access(want.pool).candidates(want.ports) for want in step.wants}
        masks = {want.pool: free_ports_mask(self._spec(want), want, candidates[want.pool].taken) for want in step.wants}
        if step.port:
            masks = {pool: mask & (1 << step.port) for pool, mask in masks.items()}
        ports = list(islice(common_ports(masks.values()), MAX_TRIES))
        # In the order of pools: of two pods that want the same port, the one that is first in the first pool goes on.
        ordered = sorted(step.wants)
        for port in ports:
            if self._take_all(ordered, port) or self._is_closed(pools):
                return
        if ports:
            raise self._overtaken(pools)
        growing = {want.pool for want in step.wants if self._can_grow(want, candidates[want.pool])}
        self._wait(step, pools_to_grow(masks, growing), {pool: offer.freed for pool, offer in candidates.items()})

    def _is_closed(self, pools: Collection[str]) -> bool:
        """Whether a pool gives nothing, or no more to this namespace: it would refuse another port as well."""
        states, full = self._observation.pools, self._observation.full
        return any(states[pool].state is not PoolState.ACTIVE or pool in full for pool in pools)

    def _overtaken(self, pools: Collection[str]) -> TransientError:
        return TransientError(f"what pools {' and '.join(pools)} have in common has changed meanwhile", OVERTAKEN)

    def _spec(self, want: Want) -> PortPoolSpec:
        return self._observation.config(want.pool).spec

    def _can_grow(self, want: Want, candidates: Candidates) -> bool:
        spec = self._spec(want)
        most = spec.auto_create.max_load_balancers if spec.auto_create.enabled else 0
        return candidates.created < most and (not spec.lb_blocklist or self._has_name(want.pool, spec, most))

    def _has_name(self, pool: str, spec: PortPoolSpec, most: int) -> bool:
        """Whether an unused slot number gives a name that is not blocked."""
        used = {lb.slot for lb in view(self._services.ledger(pool)).load_balancers}
        prefix, cluster = spec.auto_create.parameters.name_prefix, self._services.cluster
        names = (load_balancer_name(cluster, pool, slot, prefix) for slot in set(range(most)) - used)
        return any(not spec.blocks(name) for name in names)

    def _take_all(self, wants: Collection[Want], port: int) -> bool:
        """Take the port in pool after pool, and free all of them again when one pool refuses."""
        taken = set[EntryId]()
        for want in wants:
            granted = self._take(want, port)
            if granted is None:
                for entry_id in sorted(taken):
                    rollback(self._services, self._observation, self._observation.entries[entry_id])
                return False
            taken |= granted
        log_allocated(self._observation, taken)
        return True

    def _take(self, want: Want, port: int) -> set[EntryId] | None:
        observation, pool, spec = self._observation, want.pool, self._spec(want)
        assert observation.pod
        (request,) = ledger_requests(spec, [want])
        order = ordering(spec.lb_policy)
        answer = observation.access(pool).take(observation.pod.uid, request, order, spec.segment_length, port)
        count_allocation(pool, "taken" if answer is None else type(answer).__name__.lower())
        if isinstance(answer, Granted):
            self._services.wake_pods(answer.woken)
            return observation.add_grant(pool, answer)
        if isinstance(answer, Capped):
            self._services.wake_pods(answer.woken)
            note_cap(self._services, observation, pool, answer, want.ports)
        elif answer:
            observation.pools[pool].state = PoolState.PENDING
        return None

    def _wait(self, step: AllocateSamePort, growing: Collection[str], freed: Mapping[str, str]) -> None:
        """Wait in every pool, because a port that becomes free in any may be the common one; only `growing` grow."""
        pod, pools = self._observation.pod, " and ".join(want.pool for want in step.wants)
        assert pod
        self._observation.refusal = f"pools {pools} have no free port in common"
        if step.port:
            self._observation.refusal = f"port {step.port}, which the pod has elsewhere, is not free in {pools}"
        for want in step.wants:
            ports = want.ports if want.pool in growing else 0
            access, kinds = self._observation.access(want.pool), self._by_kind(want, ports)
            answer = access.wait(pod.uid, ports, kinds, freed[want.pool])
            if answer is None:
                raise self._overtaken([want.pool for want in step.wants])
            self._services.wake_pods(answer.woken)
            if isinstance(answer, Capped):
                note_cap(self._services, self._observation, want.pool, answer, ports)
                continue
            note_failure(self._services, self._observation, want.pool, answer, want.ports, "no_common_port")
            if ports:
                request_scale_up(self._services, want.pool, answer.epoch)

    def _by_kind(self, want: Want, ports: int) -> list[int]:
        """How many ports of each kind of precreated listener are waited for; [] in a pool without them."""
        if not kinds(self._spec(want)):
            return []
        return [ports if kind == kind_of(want.protocol) else 0 for kind in (1, 2, 3)]
