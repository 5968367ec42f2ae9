"""What one run knows of a pod's ports when it decides its next step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property

from domain.port_pools.port_pool import PoolState
from domain.ports.backend import BackendRequirement
from domain.ports.endpoints import published_ids
from domain.ports.entry import Entry
from domain.ports.holding import ByKey, EntryId, by_key, complete_ranges
from domain.ports.pod import PodView
from domain.ports.want import Want

EntryIds = frozenset[EntryId]


@dataclass(frozen=True)
class ObservedPorts:
    """`pod` is None when it is gone; `wants` are () for a pod that did not opt in.

    What several questions of a decision ask for is derived once.
    """

    pod: PodView | None
    wants: tuple[Want, ...] = ()
    problem: str | None = None  # why the annotation cannot be served, see RequestError
    pools_refuse: bool = False  # the problem is the spec of a pool, which may change
    pools: Mapping[str, PoolState] = field(default_factory=dict)
    dns_names: Mapping[str, str] = field(default_factory=dict)
    entries: tuple[Entry, ...] = ()  # of every UID of the name
    waiting: frozenset[str] = frozenset()  # pools that have the name on their waiting list
    full: frozenset[str] = frozenset()  # pools that refused this run
    refusal: str | None = None  # the words of that refusal
    barred: Mapping[str, str] = field(default_factory=dict)  # pools that give this pod nothing, and why
    fresh: EntryIds = frozenset()  # allocated by this run, which has made no cloud call for them yet
    confirmed: EntryIds = frozenset()  # recorded as bound by this run, after it read the pod
    to_compare: EntryIds = frozenset()  # ports whose targets must be compared with AWS
    retain: int = 0  # seconds for which the pod wants its ports kept once it is gone
    backends: Mapping[str, BackendRequirement] = field(default_factory=dict)
    health: Mapping[EntryId, str] = field(default_factory=dict)  # of the targets that this run has checked
    recheck: timedelta = timedelta(minutes=5)  # the wait without a port; the waiting list wakes the pod earlier
    health_checks: int = 0  # waits in a row that were counted

    def backend(self, pool: str) -> BackendRequirement:
        """What the pool requires of the pod."""
        return self.backends.get(pool, BackendRequirement())

    @cached_property
    def own_entries(self) -> tuple[Entry, ...]:
        """The entries of this pod, not of others of its name, in their order."""
        return tuple(sorted(e for e in self.entries if self.pod and e.uid == self.pod.uid))

    @cached_property
    def held(self) -> ByKey:
        """The pod's own entries by pool and key."""
        return by_key(self.own_entries)

    @cached_property
    def unmet_wants(self) -> tuple[Want, ...]:
        """The wants that no complete range serves."""
        return tuple(w for w in self.wants if not complete_ranges(w, self.held))

    @cached_property
    def published(self) -> EntryIds:
        """The ids of the ports that the pod shows."""
        return frozenset(published_ids(self.pod.outputs.endpoints)) if self.pod else frozenset()
