"""Whatever a run finds (ledger, pod, pools, hostile annotations), it ends, and the next run changes nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.kubernetes.names import ENDPOINTS, PORTS, PORTS_ENABLED, PORTS_MESSAGE, PORTS_RETAIN, PORTS_STATE, SAME_PORT
from domain.port_pools.port_pool import PoolState
from domain.ports.backend import Backend
from domain.ports.endpoints import published
from domain.ports.entry import Entry, EntryState
from domain.ports.lifecycle import next_step
from domain.ports.observation import Observed
from domain.ports.pod import PodView, PortsState
from domain.ports.request import parse_ports
from domain.ports.steps import Allocate, AllocateTogether, Look, Release, Rollback, Stop
from domain.ports.target import address_of
from domain.ports.want import container_port
from tests.support.ports.pure_run import PurePool, PureWorld

UIDS, IPS = ("uid-a", "uid-old"), ((), ("10.0.0.1",), ("fd00::1", "10.0.0.2"))
GATES = (None, None, "", "True", "False", "Odd")
BACKENDS = (Backend(), Backend(), Backend("ipv6"), Backend(healthy=True))
REQUESTS = (
    None,
    "",
    "7777",
    "7777/UDP@arena",
    "7777/UDP@arena,7778/TCP@arena",
    "7777/UDP@arena,7777/TCP@arena,9000/TCP@lobby",
    "1/TCP@gone",
    "7777/UDP@arena+lobby",
    "7777-7778/UDP@arena",
    "7777-7779/UDP@arena+lobby",
)
PARTS = tuple(f"7777-777{end}/UDP+{n}" for end in (8, 9) for n in range(3))
WANTS = ("7777/UDP", "7778/TCP", "7777/TCPUDP", "9000/TCP", "", "7/SCTP", "99999/UDP", *PARTS)

entries = st.builds(
    Entry,
    pool=st.sampled_from(["arena", "lobby"]),
    lb=st.just("bm-0"),
    port=st.integers(30000, 30005),
    want=st.sampled_from(WANTS),
    uid=st.sampled_from(UIDS),
    state=st.sampled_from(EntryState),
    listener=st.sampled_from(["", "listener"]),
    target_group=st.sampled_from(["", "group"]),
    target=st.sampled_from(["", "10.0.0.1:7777", "10.0.0.2:7778", "10.9.9.9:1"]),
    retain=st.sampled_from([0, 0, 60]),
    until=st.sampled_from([0, 1]),
)
container_ports, addresses = st.sampled_from([7777, 7778, 9000]), st.sampled_from(["", "10.0.0.1:7777"])


@st.composite
def published_texts(draw: st.DrawFn, held: list[Entry]) -> str:
    """Of ports that are held and of others, or nothing that can be read."""
    places = [e.id for e in held] + [("arena", "bm-0", 30000), ("lobby", "bm-1", 30001)]
    rows = [
        {"pool": pool, "loadBalancer": lb, "port": port, "containerPort": draw(container_ports), "name": "x"}
        for pool, lb, port in draw(st.lists(st.sampled_from(places), max_size=4))
    ]
    text = json.dumps([row | {"target": draw(addresses)} for row in rows])
    return draw(st.sampled_from([text, text, text, "", "{", "[1]", '[{"port":1e999}]']))


notes = st.fixed_dictionaries(
    {},
    optional={
        PORTS_STATE: st.sampled_from([*PortsState, "", "nonsense"]),
        PORTS_MESSAGE: st.text(max_size=5),
        PORTS_ENABLED: st.sampled_from(["true", "false", "no"]),
        PORTS_RETAIN: st.sampled_from(["true", "60s", "false", "for ever"]),
        SAME_PORT: st.sampled_from(["true", "x"]),
        "berthmaster.dev/odd": st.just("x"),
    },
)


@st.composite
def pods(draw: st.DrawFn, held: list[Entry]) -> PodView | None:
    if draw(st.booleans()) and draw(st.booleans()):
        return None
    request = draw(st.sampled_from(REQUESTS))
    annotations = draw(notes) | ({PORTS: request} if request is not None else {})
    if text := draw(published_texts(held)):
        annotations[ENDPOINTS] = text
    phase = draw(st.sampled_from(["Pending", "Running", "Running", "Succeeded", "Failed", "Odd"]))
    uid, ips, gate = draw(st.sampled_from(UIDS)), draw(st.sampled_from(IPS)), draw(st.sampled_from(GATES))
    return PodView("games", "a", uid, 1, annotations, ips, phase, gate)


@st.composite
def worlds(draw: st.DrawFn) -> PureWorld:
    states = st.sampled_from([PoolState.ACTIVE, *PoolState])
    names, room, backend = ("arena", "lobby", "gone"), st.integers(0, 3), st.sampled_from(BACKENDS)
    pools = {name: PurePool(draw(states), room=draw(room), backend=draw(backend)) for name in names}
    made = PureWorld(pools={n: p for n, p in pools.items() if n != "gone" and p.state is not PoolState.MISSING})
    held = draw(st.lists(entries, max_size=4, unique_by=lambda e: e.id))
    pod = draw(pods(held))
    made.pods = {"a": pod} if pod else {}
    made.entries = {"a": {e.id: e for e in held}}
    made.waiting = {"a": draw(st.sets(st.sampled_from(["arena", "lobby", "gone"])))}
    places = [place for name in ("arena", "lobby") for place in pools[name].places(name)]
    made.foreign = set(draw(st.lists(st.sampled_from(places), max_size=3))) if places else set()
    made.sick = set(draw(st.lists(st.sampled_from(places), max_size=3))) if places else set()
    return made


@pytest.mark.row("BD-01", "AL-12", "AL-17")
@settings(max_examples=200)
@given(worlds())
def test_every_run_ends_and_a_settled_one_changes_nothing(made: PureWorld) -> None:
    """The first may give back what the second then asks for anew, and that one may be told another reason to wait."""
    assert isinstance(made.run()[-1], Stop)
    made.run()
    settled = made.run()
    assert all(isinstance(step, Allocate | AllocateTogether | Rollback | Look | Stop) for step in settled)
    assert made.run() == settled


@pytest.mark.row("BD-01")
@settings(max_examples=200)
@given(worlds())
def test_a_run_that_gave_nothing_back_leaves_nothing_to_do(made: PureWorld) -> None:
    if any(isinstance(step, Release) for step in made.run()):
        return
    assert all(isinstance(step, Allocate | AllocateTogether | Rollback | Look | Stop) for step in made.run())


@pytest.mark.row("BD-08", "BD-21")
@settings(max_examples=200)
@given(worlds())
def test_a_settled_pod_shows_exactly_what_it_holds_and_holds_exactly_what_it_asks_for(made: PureWorld) -> None:
    before = made.pods.get("a")
    made.run()
    pod = made.pods.get("a")
    if any(made.pools[p].state is PoolState.NOT_READY for p in opened(made) if p in made.pools):
        return
    if not pod or not pod.wants_ports:
        away = not pod or (pod.ended and pod.opted_in)
        assert all(away and e.state is EntryState.RETAINED for e in made.held())
    elif pod.outputs.state == PortsState.BOUND:
        wanted = {(w.pool, key) for w in parse_ports(pod.annotations[PORTS]) for key in w.keys}
        assert {(e.pool, e.want) for e in made.held()} == wanted
        assert len(made.held()) == len(wanted)
        ips = {name: pod.address(made.pools[name].backend.family) for name in opened(made)}
        assert all(address_of(e.target) == (ips[e.pool], container_port(e.want)) for e in made.held())
        unseen = {e.id for e in made.held() if made.pools[e.pool].backend.healthy} & made.sick
        assert not unseen or before == pod
        assert published(pod.outputs.endpoints) == {e.id for e in made.held()}


@pytest.mark.row("AL-12")
@settings(max_examples=200)
@given(worlds())
def test_a_request_that_is_not_met_as_a_whole_holds_nothing_new(made: PureWorld) -> None:
    made.foreign = set()
    before = {e.id for e in made.held()}
    steps = made.run()
    if isinstance(steps[-1], Stop) and "free port" in steps[-1].reason:
        assert {e.id for e in made.held()} <= before
        assert all(e.state is EntryState.BOUND for e in made.held())


@given(worlds(), st.data())
def test_there_is_an_answer_to_everything_that_can_be_seen(made: PureWorld, data: st.DataObject) -> None:
    """Also to what no order of steps leads to."""
    seen = made.begin().observed()
    ids = st.sets(st.sampled_from([e.id for e in seen.entries])) if seen.entries else st.just(set())
    odd: dict[str, Any] = {
        "problem": data.draw(st.sampled_from(["", "odd"])),
        "pools": data.draw(st.dictionaries(st.sampled_from(["arena", "lobby", "gone"]), st.sampled_from(PoolState))),
        "fresh": frozenset(data.draw(ids)),
        "confirmed": frozenset(data.draw(ids)),
        "full": frozenset(data.draw(st.sets(st.sampled_from(["arena", "lobby"])))),
    }
    assert next_step(Observed(seen.pod, seen.wants, dns_names={}, entries=seen.entries, waiting=seen.waiting, **odd))


def opened(made: PureWorld) -> set[str]:
    return set(made.begin().observed().pools)
