"""Pods come, change and go in any order, runs die anywhere: no place has two owners, and in the end all is served."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from domain.kubernetes.names import PORTS, PORTS_ENABLED, PORTS_RETAIN, SAME_PORT
from domain.port_pools.port_pool import PoolState
from domain.ports.endpoints import published
from domain.ports.entry import Entry, EntryState
from domain.ports.holding import by_key, whole
from domain.ports.pod import Outputs, PodView, PortsState
from domain.ports.request import parse_ports
from domain.ports.same_port import groups, settled_port
from domain.ports.steps import Allocate, AllocateTogether, Rollback, Stop
from domain.ports.target import address_of
from domain.ports.want import Want
from tests.support.ports.pure_run import PurePool, PureWorld
from tests.support.ports.pure_wants import common_fit, first_fit, request

NAMES = st.sampled_from(["a", "b", "c"])
ANNOTATIONS = st.sampled_from(
    [
        None,
        "7777/UDP@arena",
        "7777/UDP@arena,7778/TCP@arena",
        "7777/UDP@arena,9000/TCP@lobby",
        "9000/TCP@lobby,9000/UDP@lobby,7777/UDP@arena",
        "7777/UDP@arena+lobby",
        "rtp=10-11/UDP@arena",
        "rtp=10-12/UDP@arena,7777/UDP@lobby",
        "rtp=10-11/QUIC@arena+lobby",
        "7777/SCTP@arena",
        "1/TCP@gone",
    ]
)
IPS = st.sampled_from([(), ("10.0.0.1",), ("10.0.0.2",), ("fd00::1",)])
NOTES = st.fixed_dictionaries(
    {PORTS_RETAIN: st.sampled_from(["false", "true", "1h", "odd"])},
    optional={PORTS_ENABLED: st.just("false"), SAME_PORT: st.just("true")},
)
CRASH = st.sampled_from([99, 99, 99, 1, 2, 3, 4, 5, 6])


class Ports(RuleBasedStateMachine):
    """Two small pools and three pods that compete for their ports."""

    def __init__(self) -> None:
        super().__init__()
        self.world = PureWorld(pools={"arena": PurePool(room=3), "lobby": PurePool(room=2)})
        self.born = 0
        for name in ("a", "b", "c"):
            self.change(name, "7777/UDP@arena", ("10.0.0.1",), {}, 99)

    @rule(name=NAMES, ports=ANNOTATIONS, ips=IPS, notes=NOTES, crash=CRASH)
    def change(self, name: str, ports: str | None, ips: tuple[str, ...], notes: dict[str, str], crash: int) -> None:
        if name not in self.world.pods:
            self.born += 1
            self.world.pod(name, ports, uid=f"uid-{self.born}", ips=ips)
        self.world.pod(name, ports, ips=ips, notes=notes)
        self.world.run(name, crash_after=crash)

    @rule(name=NAMES, crash=CRASH, deleted=st.booleans())
    def end(self, name: str, crash: int, deleted: bool) -> None:
        if name in self.world.pods:
            self.world.pod(name, phase="Succeeded")
        if deleted:
            self.world.pods.pop(name, None)
        self.world.run(name, crash_after=crash)

    @rule(name=NAMES, ips=IPS)
    def move(self, name: str, ips: tuple[str, ...]) -> None:
        if pod := self.world.pods.get(name):
            self.world.pod(name, pod.annotations.get(PORTS), ips=ips)
            self.world.run(name)

    @rule(name=NAMES, crash=CRASH)
    def run(self, name: str, crash: int) -> None:
        self.world.run(name, crash_after=crash)

    @rule(pool=st.sampled_from(["arena", "lobby"]), state=st.sampled_from(PoolState))
    def change_pool(self, pool: str, state: PoolState) -> None:
        if state is not PoolState.MISSING:  # a pool that still has owners is not forgotten
            self.world.pools[pool].state = state

    @rule(error=st.sampled_from([None, PortsState.ALLOCATED, PortsState.FAILED]), busy=st.booleans())
    def change_cloud(self, error: PortsState | None, busy: bool) -> None:
        self.world.cloud_error, self.world.busy = error, busy

    @invariant()
    def no_place_has_two_owners(self) -> None:
        places = Counter(i for held in self.world.entries.values() for i in held)
        assert all(count == 1 for count in places.values())

    @invariant()
    def a_published_place_is_held_and_not_on_its_way_out(self) -> None:
        for name, pod in self.world.pods.items():
            for place in published(pod.outputs.endpoints):
                held = self.world.entries[name][place]
                assert held.uid == pod.uid
                assert held.state is not EntryState.RELEASING

    def teardown(self) -> None:
        """All is well in the end."""
        self.world.cloud_error, self.world.busy = None, False
        for pool in self.world.pools.values():
            pool.state = PoolState.ACTIVE
        for _ in range(4):  # a run that gives back wakes others
            last = {name: self.world.run(name) for name in ("a", "b", "c")}
        for name, steps in last.items():
            assert all(isinstance(step, Allocate | AllocateTogether | Rollback | Stop) for step in steps)
            self.check(name)
            self.check_targets(name)

    def check(self, name: str) -> None:
        """The pod of that name is served as a whole, or not at all and for a reason."""
        pod, held = self.world.pods.get(name), self.world.held(name)
        if not pod or not pod.wants_ports:
            away = not pod or (pod.ended and pod.opted_in)
            assert all(away and e.state is EntryState.RETAINED and not e.target for e in held)
            assert not pod or pod.outputs == Outputs()
        elif pod.outputs.state in (PortsState.BOUND, PortsState.DISABLED, PortsState.WAIT_BACKEND):
            wants = parse_ports(pod.annotations[PORTS])
            assert sorted((e.pool, e.want) for e in held) == sorted((w.pool, key) for w in wants for key in w.keys)
            assert self.world.waiting[name] == set()
        elif pod.outputs.state == PortsState.NO_PORT_AVAILABLE:
            wants = parse_ports(pod.annotations[PORTS])
            assert self.unmet(pod, [w for w in wants if not whole(w, by_key(held))], held)
            assert self.world.waiting[name]
            assert all(e.uid == pod.uid and e.state in (EntryState.BOUND, EntryState.RETAINED) for e in held)
        elif pod.outputs.state == PortsState.FAILED:
            assert request(pod, "")[2]
        else:
            assert pod.outputs.state == PortsState.POOL_NOT_FOUND

    def unmet(self, pod: PodView, lacking: list[Want], held: list[Entry]) -> bool:
        """Some pool lacks the ports, or several lack a number in common."""
        pools = {w.pool: [each for each in lacking if each.pool == w.pool] for w in lacking}
        if any(first_fit(asked, self.world.free(pool)) is None for pool, asked in pools.items()):
            return True
        tied = groups(parse_ports(pod.annotations[PORTS])) if pod.same_port else ()
        free = {w.pool: self.world.free(w.pool) for w in lacking}
        missing = [([w for w in g if w in lacking], settled_port(g, by_key(held))) for g in tied]
        return any(wants and not common_fit(wants, free, port) for wants, port in missing)

    def check_targets(self, name: str) -> None:
        """Traffic goes to the pod's present address or nowhere."""
        pod = self.world.pods.get(name)
        ips = {pod.address("ipv4")} if pod and pod.enabled else set()
        assert {address_of(e.target)[0] for e in self.world.held(name) if e.target} <= ips


TestPorts = pytest.mark.row("AL-01", "AL-12", "AL-17", "AL-21", "BD-17", "BD-23")(Ports.TestCase)
TestPorts.settings = settings(stateful_step_count=30, max_examples=200, deadline=None)
