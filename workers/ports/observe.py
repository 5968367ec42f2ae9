"""The world of one run of a pod: what was read, and what the run itself has changed since."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from berthmaster.errors import TerminalError
from domain.kubernetes.names import PORTS_RETAIN
from domain.port_pools.port_pool import PoolState, PortPoolSpec
from domain.ports.backend import Backend
from domain.ports.entry import Entry, EntryState
from domain.ports.fitting import fitted, not_permitted
from domain.ports.holding import by_key
from domain.ports.observation import Observed
from domain.ports.pod import PodView
from domain.ports.request import RequestError, wants_of
from domain.ports.retain_annotation import retention
from domain.ports.want import Want
from workers.run import Run
from workers.scale_up.pool_config import PoolConfig
from workers.stores.ports.ledger import Carrier, Granted, PoolRun

EntryId = tuple[str, str, int]
MOST_PORTS = 65536


@dataclass
class PoolAccess:
    """One pool in this run; `run` is None when its ledger is not ready or there is no such pool."""

    state: PoolState
    run: PoolRun | None = None
    config: PoolConfig | None = None


@dataclass
class World:
    """Mutable on purpose: it is local to one run, and `observed` turns it into the value that the domain decides on.

    `live`: the pod is what the API server says, not what the publisher has told.
    """

    run: Run
    namespace: str
    name: str
    pod: PodView | None
    wants: tuple[Want, ...] = ()
    problem: str = ""
    of_pools: bool = False
    live: bool = False
    retain: int = 0
    recheck: timedelta = timedelta(minutes=5)
    pools: dict[str, PoolAccess] = field(default_factory=dict)
    carriers: dict[str, Carrier] = field(default_factory=dict)
    entries: dict[EntryId, Entry] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)
    full: set[str] = field(default_factory=set)
    refusal: str = ""
    barred: dict[str, str] = field(default_factory=dict)
    fresh: set[EntryId] = field(default_factory=set)
    confirmed: set[EntryId] = field(default_factory=set)
    due: set[EntryId] = field(default_factory=set)
    health: dict[EntryId, str] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{self.name}"

    def request(self, default: str, retain_for: timedelta) -> None:
        """Reads the pod's annotations; `default` stands for an empty request, `retain_for` for `true`."""
        self.wants, self.retain, self.problem = (), 0, ""
        if not self.pod or not self.pod.wants_ports:
            return
        try:
            wants = wants_of(self.pod, default)
            self.retain = retention(self.pod.annotations.get(PORTS_RETAIN), retain_for)
            self.wants = wants
        except RequestError as error:
            self.problem = str(error)

    def fit(self) -> None:
        """What the pools can never give is a problem of the request, not a wait for a port."""
        specs = {pool: access.config.spec for pool, access in self.pools.items() if access.config}
        try:
            with contextlib.suppress(RequestError):
                return self._fit_in(specs)
            self._fit_in({pool: spec.with_limit_at_least(self._created(pool)) for pool, spec in specs.items()})
        except RequestError as error:
            self.problem, self.of_pools = str(error), True

    def _fit_in(self, specs: Mapping[str, PortPoolSpec]) -> None:
        assert self.pod
        uid, waits = self.pod.uid, EntryState.RETAINED
        mine = [e for e in self.entries.values() if e.uid == uid or e.state is waits or e.retain]
        self.wants = fitted(self.wants, specs, self.pod, by_key(mine))

    def _created(self, pool: str) -> int:
        """Load balancers."""
        run = self.pools[pool].run
        return run.candidates(MOST_PORTS).created if run else 0

    def put(self, entries: tuple[Entry, ...], pool: str) -> None:
        """The entries of this name in `pool` are now these."""
        self.entries = {i: e for i, e in self.entries.items() if i[0] != pool} | {e.id: e for e in entries}

    def granted(self, pool: str, answer: Granted) -> set[EntryId]:
        """The ids of what the ledger has just given."""
        before = set(self.entries)
        self.carriers |= answer.carriers
        self.put(answer.entries, pool)
        self.waiting.discard(pool)
        self.fresh |= set(self.entries) - before
        return set(self.entries) - before

    def access(self, pool: str) -> PoolRun:
        run = self.pools[pool].run
        assert run, f"pool {pool} was not opened"
        return run

    def config(self, pool: str) -> PoolConfig:
        config = self.pools[pool].config
        assert config, f"pool {pool} has no configuration"
        return config

    def certificate(self, pool: str) -> str:
        """For a TLS listener; '' when there is none. Raises TerminalError when the pool permits not the pod's own.

        A request is refused before it takes a port; a port that is held may have lost its listener since.
        """
        asked, spec = self.pod.certificate if self.pod else "", self.config(pool).spec
        given = spec.certificate_for(asked)
        if asked and not given:
            raise TerminalError(not_permitted(pool, asked))
        return given or ""

    def observed(self) -> Observed:
        return Observed(
            pod=self.pod,
            wants=self.wants,
            problem=self.problem,
            of_pools=self.of_pools,
            pools={name: access.state for name, access in self.pools.items()},
            dns_names={name: carrier.dns for name, carrier in self.carriers.items()},
            entries=tuple(self.entries.values()),
            waiting=frozenset(self.waiting),
            full=frozenset(self.full),
            refusal=self.refusal,
            barred=dict(self.barred),
            fresh=frozenset(self.fresh),
            confirmed=frozenset(self.confirmed),
            due=frozenset(self.due),
            backends={name: Backend.of(a.config.spec) for name, a in self.pools.items() if a.config},
            health=self.health,
            looks=self.run.tries,
            retain=self.retain,
            recheck=self.recheck,
        )
