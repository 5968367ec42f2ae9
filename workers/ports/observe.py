"""What one run observes of a pod: its request, its entries in the ledgers of its pools, and what the run changes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from berthmaster.errors import TerminalError
from berthmaster.routing import port_pool_key, split_key
from domain.kubernetes.names import PORTS_RETAIN
from domain.port_pools.port_pool import PoolState, PortPoolSpec
from domain.ports.backend import BackendRequirement
from domain.ports.entry import Entry, EntryState
from domain.ports.fitting import certificate_refusal, fit_to_pools
from domain.ports.holding import EntryId, by_key
from domain.ports.observation import ObservedPorts
from domain.ports.pod import PodView
from domain.ports.request import RequestError, wants_of
from domain.ports.retain_annotation import parse_retention
from domain.ports.want import Want
from workers.port_services import PortServices
from workers.run import Run
from workers.scale_up.pool_config import PoolConfig, decode_config
from workers.stores.ports.ledger import Carrier, Granted, NotReady, PodLedger

ALL_PORTS: Final = 65536


@dataclass
class PoolAccess:
    """One pool in this run; `run` is None when its ledger is not ready or the pool does not exist."""

    state: PoolState
    run: PodLedger | None = None
    config: PoolConfig | None = None


@dataclass
class PodObservation:
    """Mutable, because it is local to one run; `observed` turns it into the value that the domain decides on.

    `live`: the pod was read from the API server, not from the publisher's snapshot.
    """

    run: Run
    namespace: str
    name: str
    pod: PodView | None
    wants: tuple[Want, ...] = ()
    problem: str | None = None
    pools_refuse: bool = False
    live: bool = False
    retain: int = 0
    recheck: timedelta = timedelta(minutes=5)
    pools: dict[str, PoolAccess] = field(default_factory=dict)
    carriers: dict[str, Carrier] = field(default_factory=dict)
    entries: dict[EntryId, Entry] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)
    full: set[str] = field(default_factory=set)
    refusal: str | None = None
    barred: dict[str, str] = field(default_factory=dict)
    fresh: set[EntryId] = field(default_factory=set)
    confirmed: set[EntryId] = field(default_factory=set)
    to_compare: set[EntryId] = field(default_factory=set)
    health: dict[EntryId, str] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    def read_request(self, default: str, retain_for: timedelta) -> None:
        """Read the pod's annotations; `default` stands for an empty request, `retain_for` for `true`."""
        self.wants, self.retain, self.problem = (), 0, None
        if not self.pod or not self.pod.wants_ports:
            return
        try:
            wants = wants_of(self.pod, default)
            self.retain = parse_retention(self.pod.annotations.get(PORTS_RETAIN), retain_for)
            self.wants = wants
        except RequestError as error:
            self.problem = str(error)

    def fit_request(self) -> None:
        """Fit the request to its pools. What they can never give is a problem of the request, not a wait for a port."""
        specs = {pool: access.config.spec for pool, access in self.pools.items() if access.config}
        try:
            with contextlib.suppress(RequestError):
                return self._fit_to(specs)
            self._fit_to({pool: spec.with_limit_at_least(self._created(pool)) for pool, spec in specs.items()})
        except RequestError as error:
            self.problem, self.pools_refuse = str(error), True

    def _fit_to(self, specs: Mapping[str, PortPoolSpec]) -> None:
        assert self.pod
        uid, retained = self.pod.uid, EntryState.RETAINED
        usable = [e for e in self.entries.values() if e.uid == uid or e.state is retained or e.retain]
        self.wants = fit_to_pools(self.wants, specs, self.pod, by_key(usable))

    def _created(self, pool: str) -> int:
        """How many load balancers the pool has created."""
        run = self.pools[pool].run
        return run.candidates(ALL_PORTS).created if run else 0

    def replace_entries(self, entries: Iterable[Entry], pool: str) -> None:
        """Replace all entries of this name in `pool`."""
        self.entries = {i: e for i, e in self.entries.items() if i[0] != pool} | {e.id: e for e in entries}

    def add_grant(self, pool: str, grant: Granted) -> set[EntryId]:
        """Add what the ledger has just granted, and return the ids of the new entries."""
        before = set(self.entries)
        self.carriers |= grant.carriers
        self.replace_entries(grant.entries, pool)
        self.waiting.discard(pool)
        self.fresh |= set(self.entries) - before
        return set(self.entries) - before

    def drop(self, entry_id: EntryId) -> None:
        """Forget an entry that is not the pod's any more."""
        self.entries.pop(entry_id)
        self.fresh.discard(entry_id)

    def access(self, pool: str) -> PodLedger:
        """The run's access to the ledger of a pool that it has opened."""
        run = self.pools[pool].run
        assert run, f"pool {pool} was not opened"
        return run

    def config(self, pool: str) -> PoolConfig:
        """The configuration of a pool that the run has opened."""
        config = self.pools[pool].config
        assert config, f"pool {pool} has no configuration"
        return config

    def certificate(self, pool: str) -> str | None:
        """The ARN for a TLS listener, None for none. Raises TerminalError when the pool does not permit the pod's own.

        Such a request is refused before it takes a port, but a port that is held may have lost its listener since.
        """
        requested, spec = self.pod.certificate if self.pod else None, self.config(pool).spec
        permitted = spec.certificate_for(requested)
        if requested and not permitted:
            raise TerminalError(certificate_refusal(pool, requested))
        return permitted

    def observed(self) -> ObservedPorts:
        """Return the value that the domain decides on."""
        return ObservedPorts(
            pod=self.pod,
            wants=self.wants,
            problem=self.problem,
            pools_refuse=self.pools_refuse,
            pools={name: access.state for name, access in self.pools.items()},
            dns_names={name: carrier.dns for name, carrier in self.carriers.items()},
            entries=tuple(self.entries.values()),
            waiting=frozenset(self.waiting),
            full=frozenset(self.full),
            refusal=self.refusal,
            barred=dict(self.barred),
            fresh=frozenset(self.fresh),
            confirmed=frozenset(self.confirmed),
            to_compare=frozenset(self.to_compare),
            backends={name: BackendRequirement.of(a.config.spec) for name, a in self.pools.items() if a.config},
            health=self.health,
            health_checks=self.run.tries,
            retain=self.retain,
            recheck=self.recheck,
        )


def observe(services: PortServices, run: Run, pod: PodView | None, live: bool) -> PodObservation:
    """Read the request, and open the ledger of each pool that it names or where the name may own ports."""
    _, namespace, name = split_key(run.key)
    observation = PodObservation(run, namespace, name, pod, live=live, recheck=services.recheck)
    observation.read_request(services.default_spec, services.retain_for)
    for pool in sorted({want.pool for want in observation.wants} | set(run.pools)):
        _open(services, observation, pool)
    if observation.wants:
        observation.fit_request()
    return observation


def pod_of(services: PortServices, run: Run) -> PodView | None:
    """The pod of the run's snapshot. No snapshot means unknown, so then the API server is asked."""
    if run.snapshot is None:
        return read_pod(services, run)
    return None if run.snapshot.gone else PodView.from_snapshot(run.snapshot.version, run.snapshot.body)


def read_pod(services: PortServices, run: Run) -> PodView | None:
    """The pod that the API server has now."""
    _, namespace, name = split_key(run.key)
    run.keep(services.call_time)
    return services.pods.read(namespace, name)


def _open(services: PortServices, observation: PodObservation, pool: str) -> None:
    try:
        opened = services.ledger(pool).open(observation.full_name, observation.run.token)
    except NotReady:
        observation.pools[pool] = PoolAccess(_state_without_ledger(services, pool))
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


def _state_without_ledger(services: PortServices, pool: str) -> PoolState:
    """MISSING, or NOT_READY for a pool whose ledger its own run rebuilds; that run is woken."""
    key = port_pool_key(pool)
    snapshot = services.queue.snapshot(key)
    if snapshot is None or snapshot.gone:
        return PoolState.MISSING
    services.queue.touch([key])
    return PoolState.NOT_READY
