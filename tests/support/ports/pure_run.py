"""Whole runs of the port decisions without Redis, Kubernetes and AWS: the steps, done on plain dictionaries.

`PureWorld` is a ledger of several pools, the pods, and a cloud that may fail or hold foreign listeners. A run may be
stopped after any number of its steps, as a crash would. What must never happen is asserted here at every step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from domain.kubernetes.names import PORTS
from domain.port_pools.port_pool import PoolState
from domain.ports.backend import HEALTHY, Backend
from domain.ports.endpoints import published
from domain.ports.entry import Entry, EntryState
from domain.ports.lifecycle import after_cloud_error, next_step
from domain.ports.observation import Observed
from domain.ports.pod import Annotations, Outputs, PodView, PortsState
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
    Step,
    Stop,
)
from tests.support.ports.pure_wants import common_fit, first_fit, request, with_outputs

Id = tuple[str, str, int]
MOST_STEPS = 300


@dataclass
class PurePool:
    """`lbs` load balancers, each with `room` ports from 30000."""

    state: PoolState = PoolState.ACTIVE
    lbs: int = 1
    room: int = 3
    backend: Backend = field(default_factory=Backend)

    def places(self, pool: str) -> Iterator[Id]:
        for lb in range(self.lbs):
            for port in range(30000, 30000 + self.room):
                yield pool, f"bm-{pool}-{lb}", port


@dataclass
class PureWorld:
    pools: dict[str, PurePool] = field(default_factory=dict)
    pods: dict[str, PodView] = field(default_factory=dict)
    entries: dict[str, dict[Id, Entry]] = field(default_factory=dict)
    waiting: dict[str, set[str]] = field(default_factory=dict)  # name -> pools
    foreign: set[Id] = field(default_factory=set)  # places with listeners of others, which nobody knows yet
    known_foreign: set[Id] = field(default_factory=set)
    cloud_error: PortsState | None = None
    closing: set[str] = field(default_factory=set)  # pools that are Active when a run begins, and then are not
    busy: bool = False  # the cloud does not delete yet
    default: str = ""
    version: int = 0
    sick: set[Id] = field(default_factory=set)  # places whose targets are not healthy

    def pod(self, name: str = "a", ports: str | None = "7777/UDP@arena", **changes: Any) -> PodView:
        """Makes the pod, or changes it; its outputs stay. `ports` None: did not opt in. `notes`: more annotations."""
        self.version += 1
        old = self.pods.get(name)
        outputs = old.outputs if old else Outputs()
        notes = changes.pop("notes", {}) | ({PORTS: ports} if ports is not None else {})
        default = {"uid": f"uid-{name}", "ips": ("10.0.0.1",), "phase": "Running"}
        kept = {"uid": old.uid, "ips": old.ips, "phase": old.phase} if old else default
        made = PodView("games", name, version=self.version, annotations={}, **kept | changes)
        shown = with_outputs(made, outputs, self.version)
        read = Annotations.of({**shown.annotations, **notes})
        self.pods[name] = replace(
            shown, annotations=read.values, unknown_annotations=read.unknown, oversized=read.oversized
        )
        return self.pods[name]

    def shown(self, name: str = "a") -> Outputs:
        return self.pods[name].outputs

    def held(self, name: str = "a") -> list[Entry]:
        return sorted(self.entries.get(name, {}).values())

    def free(self, pool: str) -> list[Id]:
        taken = {i for held in self.entries.values() for i in held} | self.known_foreign
        return [place for place in self.pools[pool].places(pool) if place not in taken]

    def run(self, name: str = "a", crash_after: int = MOST_STEPS) -> list[Step]:
        """The steps of one run: to its Stop, to a failing cloud call, or `crash_after` steps."""
        return self.go_on(self.begin(name), crash_after)

    def begin(self, name: str = "a") -> PureRun:
        return PureRun(self, name)

    def go_on(self, run: PureRun, crash_after: int = MOST_STEPS) -> list[Step]:
        done = list[Step]()
        while len(done) < crash_after:
            assert len(done) < MOST_STEPS - 1, f"no end in sight: {done[-5:]}"
            step = next_step(run.observed())
            done.append(step)
            if isinstance(step, Stop) or not run.do(step):
                break
        return done


class PureRun:
    """One run on one name: what it has seen and done."""

    def __init__(self, world: PureWorld, name: str) -> None:
        self.world, self.name = world, name
        self.pod = world.pods.get(name)
        self.wants, self.keep, self.problem = request(self.pod, world.default)
        self.full, self.closed = set[str](), set[str]()
        self.fresh, self.confirmed, self.health = set[Id](), set[Id](), dict[Id, str]()
        self.doers: dict[type, Callable[[Any], bool]] = {
            Allocate: self.allocate,
            AllocateTogether: self.together,
            Rollback: self.rollback,
            Provision: self.provision,
            Disable: lambda step: self.record(replace(step.entry, target="")),
            Look: self.look,
            Confirm: self.confirm,
            Release: self.release,
            Retain: self.retain,
            Inherit: self.inherit,
            Relabel: lambda step: all(self.record(replace(e, retain=step.retain)) for e in step.entries),
            Leave: self.leave,
            Clear: self.show,
            Show: self.show,
        }

    def do(self, step: Step) -> bool:
        """False: the run ends here, by an error that will be tried again."""
        return self.doers[type(step)](step)

    @property
    def held(self) -> dict[Id, Entry]:
        return self.world.entries.setdefault(self.name, {})

    @property
    def waits(self) -> set[str]:
        return self.world.waiting.setdefault(self.name, set())

    def observed(self) -> Observed:
        opened = {w.pool for w in self.wants} | {e.pool for e in self.held.values()} | self.waits
        return Observed(
            pod=self.pod,
            wants=self.wants,
            problem=self.problem,
            pools={pool: self.state(pool) for pool in opened},
            dns_names={e.lb: f"{e.lb}.example" for e in self.held.values()},
            entries=tuple(self.held.values()),
            waiting=frozenset(self.waits),
            full=frozenset(self.full),
            refusal=f"no free port in {', '.join(sorted(self.full))}" if self.full else "",
            fresh=frozenset(self.fresh),
            confirmed=frozenset(self.confirmed),
            backends={name: pool.backend for name, pool in self.world.pools.items()},
            health=self.health,
            retain=self.keep,
        )

    def state(self, pool: str) -> PoolState:
        if pool in self.closed:
            return PoolState.PENDING
        known = self.world.pools.get(pool)
        return known.state if known else PoolState.MISSING

    # ---- steps

    def allocate(self, step: Allocate) -> bool:
        """All or none of this pool, first fit."""
        assert self.pod
        assert self.state(step.pool) is PoolState.ACTIVE
        assert all(e.uid == self.pod.uid and e.state is not EntryState.RELEASING for e in self.held.values())
        free = self.world.free(step.pool)
        if step.pool in self.world.closing:
            self.closed.add(step.pool)
        elif (found := first_fit(step.wants, free)) is None:
            self.waits.add(step.pool)
            self.full.add(step.pool)
        else:
            for place, key in found.items():
                self.held[place] = Entry(*place, key, self.pod.uid, EntryState.ALLOCATED)
                self.fresh.add(place)
            self.waits.discard(step.pool)
        return True

    def together(self, step: AllocateTogether) -> bool:
        """The lowest number that all pools have, or none."""
        assert self.pod
        pools = {want.pool: self.world.free(want.pool) for want in step.wants}
        found = common_fit(step.wants, pools, step.port)
        for place, key in found.items():
            self.held[place] = Entry(*place, key, self.pod.uid, EntryState.ALLOCATED)
        self.fresh |= found.keys()
        if found:
            self.waits.difference_update(pools)
        else:
            self.waits.update(pools)
            self.full.update(pools)
        return True

    def rollback(self, step: Rollback) -> bool:
        assert step.entry.id in self.fresh, "only what this run took, before any cloud call"
        return self.drop(step.entry)

    def provision(self, step: Provision) -> bool:
        assert self.pod
        assert step.entry.uid == self.pod.uid
        named = step.entry.id in self.fresh or step.entry.state is EntryState.RETAINED
        self.fresh.discard(step.entry.id)
        if self.world.cloud_error:
            told = after_cloud_error(self.observed(), self.world.cloud_error, "AWS CreateListener: Busy")
            return isinstance(told, Show) and self.show(told) and False
        if step.entry.id in self.world.foreign:
            self.world.known_foreign.add(step.entry.id)
            return self.drop(step.entry)
        state = EntryState.BOUND if step.target else step.entry.state
        made = replace(step.entry, listener=f"listener/{step.entry.key}", target_group=f"group/{step.entry.key}")
        made = replace(made, retain=self.keep) if named else made
        return self.record(replace(made, target=step.target, state=state))

    def look(self, step: Look) -> bool:
        assert step.entry.state is EntryState.BOUND, "only what is registered has a health"
        self.health[step.entry.id] = "unhealthy" if step.entry.id in self.world.sick else HEALTHY
        return True

    def confirm(self, step: Confirm) -> bool:
        return all(self.record(entry) for entry in step.entries)

    def record(self, entry: Entry) -> bool:
        assert self.held[entry.id].state is not EntryState.RELEASING, "releasing is never taken back"
        self.held[entry.id] = entry
        if entry.state is EntryState.BOUND:
            self.confirmed.add(entry.id)
        return True

    def release(self, step: Release) -> bool:
        if self.pod and step.entry.uid == self.pod.uid:
            assert step.entry.id not in published(self.pod.outputs.endpoints), "cleared before it is released"
            assert self.pod.outputs.state == PortsState.RELEASING
        self.held[step.entry.id] = replace(step.entry, state=EntryState.RELEASING)
        return not self.world.busy and self.drop(step.entry)

    def retain(self, step: Retain) -> bool:
        assert step.entry.state in (EntryState.BOUND, EntryState.RETAINED)
        assert not self.pod or self.pod.ended or step.entry.uid != self.pod.uid, "its pod is gone"
        for pod in self.world.pods.values():
            assert pod.uid != step.entry.uid or step.entry.id not in published(pod.outputs.endpoints)
        self.held[step.entry.id] = replace(step.entry, state=EntryState.RETAINED, target="", until=1)
        return True

    def inherit(self, step: Inherit) -> bool:
        assert self.pod
        assert {self.state(e.pool) for e in step.entries} == {PoolState.ACTIVE}
        for e in step.entries:
            assert e.uid != self.pod.uid
            assert self.held[e.id].state in (EntryState.BOUND, EntryState.RETAINED)
            self.held[e.id] = replace(e, uid=self.pod.uid, state=EntryState.RETAINED, target="", until=0)
        return True

    def drop(self, entry: Entry) -> bool:
        del self.held[entry.id]
        self.fresh.discard(entry.id)
        self.confirmed.discard(entry.id)
        return True

    def leave(self, step: Leave) -> bool:
        self.waits.discard(step.pool)
        return True

    def show(self, step: Clear | Show) -> bool:
        """Only what is held is shown, and nothing new that this run has not confirmed; a text may stay as it is."""
        assert self.pod
        after, before = published(step.outputs.endpoints), published(self.pod.outputs.endpoints)
        assert not self.pod.shows(step.outputs), "a write that changes nothing"
        if self.world.pods.get(self.name) != self.pod:
            return False  # a conflict: somebody has changed the pod since it was read
        if step.outputs.state == PortsState.BOUND:
            assert not {i for i in after if self.world.pools[i[0]].backend.healthy} & self.world.sick
        for place in after if step.outputs.endpoints != self.pod.outputs.endpoints else ():
            assert self.held[place].uid == self.pod.uid
            assert place in self.confirmed | before
        self.world.version += 1
        self.pod = self.world.pods[self.name] = with_outputs(self.pod, step.outputs, self.world.version)
        return True
