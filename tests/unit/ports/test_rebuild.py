"""What the ledger must be after Redis was lost (docs/protocols.md, 'Rebuild of a ledger')."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.kubernetes.names import ENDPOINTS, PORTS, PORTS_STATE
from domain.port_audit.rebuild import Place, RebuildRules, RebuiltLedger, TaggedEntry, rebuild
from domain.ports.entry import Entry, EntryState
from domain.ports.pod import PodView
from tests.support.ports.pure_run import PurePool
from tests.unit.ports.worlds import bound_world

ONE = "7777/UDP@arena"


def pod(name: str = "a", ports: str | None = ONE, shows: list[Place] | None = None, **changes: Any) -> PodView:
    """A running pod that publishes ports of pool arena for its container port 7777."""
    rows = [
        {"pool": "arena", "loadBalancer": lb, "port": port, "containerPort": 7777, "target": "10.0.0.1:7777"}
        for lb, port in shows or []
    ]
    notes = {PORTS_STATE: "Bound", ENDPOINTS: json.dumps(rows)} | ({PORTS: ports} if ports is not None else {})
    made = PodView("games", name, f"uid-{name}", 1, notes, ("10.0.0.1",), "Running")
    return replace(made, **changes)


def found(
    name: str = "a", place: Place = ("lb", 30000), want: str = "7777/UDP", uid: str = "", arn: str = "l"
) -> TaggedEntry:
    """A listener, or a lone target group with `arn` ''."""
    made = Entry("arena", *place, want, uid or f"uid-{name}", EntryState.RELEASING, arn and f"{arn}{place}", "group")
    return TaggedEntry(f"games/{name}", made)


def states(world: RebuiltLedger, name: str = "a") -> dict[int, str]:
    return {e.port: e.state.value for e in world.owners.get(f"games/{name}", ())}


@pytest.mark.row("AL-19")
def test_the_listener_of_a_live_pod_is_bound() -> None:
    world = rebuild("arena", [found()], [], [pod(shows=[("lb", 30000)])])
    (entry,) = world.owners["games/a"]
    assert (entry.state, entry.listener, entry.uid) == (EntryState.BOUND, "l('lb', 30000)", "uid-a")


@pytest.mark.row("AL-19", "BD-14")
def test_what_was_registered_is_what_was_published() -> None:
    moved = pod(shows=[("lb", 30000)], ips=("10.0.0.2",))
    (entry,) = rebuild("arena", [found()], [], [moved]).owners["games/a"]
    assert entry.target == "10.0.0.1:7777"


@pytest.mark.row("AL-19")
def test_what_nobody_published_is_registered_again() -> None:
    (entry,) = rebuild("arena", [found()], [], [pod()]).owners["games/a"]
    assert (entry.state, entry.target) == (EntryState.BOUND, "")


@pytest.mark.row("AL-19")
def test_of_several_listeners_for_one_want_the_published_one_is_bound() -> None:
    listeners = [found(place=("lb", port)) for port in (30000, 30001, 30002)]
    world = rebuild("arena", listeners, [], [pod(shows=[("lb", 30001)])])
    assert states(world) == {30000: "releasing", 30001: "bound", 30002: "releasing"}


@pytest.mark.row("AL-19")
def test_of_several_unpublished_listeners_the_first_is_bound() -> None:
    listeners = [found(place=("lb", port)) for port in (30002, 30001)]
    assert states(rebuild("arena", listeners, [], [pod()])) == {30001: "bound", 30002: "releasing"}


@pytest.mark.row("AL-19", "BD-19")
def test_a_published_port_without_listener_is_bound_and_will_get_one() -> None:
    (entry,) = rebuild("arena", [], [], [pod(shows=[("lb", 30000)])]).owners["games/a"]
    assert (entry.state, entry.listener, entry.want) == (EntryState.BOUND, "", "7777/UDP")


@pytest.mark.row("AL-21", "BD-23")
@pytest.mark.parametrize(
    "pods",
    [
        [],
        [pod(uid="other")],
        [pod(ports=None)],
        [pod(phase="Succeeded")],
        [pod(ports="1/TCP@arena")],
        [pod(ports="7777/UDP@lobby")],
        [pod("b")],
    ],
)
def test_a_listener_that_nobody_is_entitled_to_is_releasing(pods: list[PodView]) -> None:
    assert states(rebuild("arena", [found()], [], pods)) == {30000: "releasing"}


@pytest.mark.row("AL-21")
def test_a_lone_target_group_is_releasing() -> None:
    assert states(rebuild("arena", [], [found(arn="")], [pod()])) == {30000: "releasing"}


@pytest.mark.row("AL-21")
def test_a_target_group_gives_way_to_a_listener_and_to_a_published_port() -> None:
    groups = [found("b", ("lb", 30000), arn=""), found("b", ("lb", 30001), arn="")]
    world = rebuild("arena", [found()], groups, [pod(ports=f"{ONE},1/TCP@arena"), pod("c", shows=[("lb", 30001)])])
    assert (states(world, "a"), states(world, "c"), states(world, "b")) == ({30000: "bound"}, {30001: "bound"}, {})


@pytest.mark.row("BD-03", "AL-14")
def test_a_mistake_in_the_annotation_costs_no_held_port_in_a_rebuild_either() -> None:
    assert states(rebuild("arena", [found()], [], [pod(ports="7777/SCTP@arena")])) == {30000: "bound"}


@pytest.mark.row("AL-19", "AL-01", "FZ-08")
@pytest.mark.parametrize(
    ("leaving", "state"),
    [
        (pod(ports="7777/UDP@other", shows=[("lb", 30000)]), "releasing"),
        (pod(ports="9000/TCP@arena", shows=[("lb", 30000)]), "releasing"),
        (pod(ports=None, shows=[("lb", 30000)]), "releasing"),
        (pod(shows=[("lb", 30000)], phase="Succeeded"), "releasing"),
        (pod(ports="7777/SCTP@arena", shows=[("lb", 30000)]), "bound"),
    ],
)
def test_nobody_else_gets_what_a_pod_still_publishes(leaving: PodView, state: str) -> None:
    """Listeners of precreated ports do not say whose they are: such a port was given to the next pod that asked."""
    assert states(rebuild("arena", [], [], [leaving])) == {30000: state}


@pytest.mark.row("AL-19")
def test_who_asks_for_a_place_has_it_before_one_who_only_publishes_it() -> None:
    pods = [pod("a", ports="9000/TCP@arena", shows=[("lb", 30000)]), pod("b", shows=[("lb", 30000)])]
    assert (states(world := rebuild("arena", [], [], pods), "a"), states(world, "b")) == ({}, {30000: "bound"})


@pytest.mark.row("AL-19")
def test_a_collision_is_decided_for_the_tag_and_counted() -> None:
    pods = [pod("a", shows=[("lb", 30000)]), pod("b", shows=[("lb", 30000)])]
    world = rebuild("arena", [found("b")], [], pods)
    assert (states(world, "a"), states(world, "b")) == ({}, {30000: "bound"})
    assert world.collisions == (("lb", 30000),)


def test_a_dead_tag_holds_its_place_against_a_pod_that_publishes_it() -> None:
    """The port cannot be given on before the dead pod's listener is gone."""
    world = rebuild("arena", [found("dead")], [], [pod("a", shows=[("lb", 30000)])])
    assert (states(world, "a"), states(world, "dead"), world.collisions) == ({}, {30000: "releasing"}, ())


@pytest.mark.row("BD-21")
def test_one_want_gets_one_place_however_many_are_published() -> None:
    greedy = pod(shows=[("lb", port) for port in range(30000, 30050)])
    assert states(rebuild("arena", [], [], [greedy])) == {30000: "bound"}


@pytest.mark.row("BD-21", "PP-01")
def test_a_published_place_that_the_pool_does_not_have_counts_for_nothing() -> None:
    pods = [pod("a", shows=[("lb", 22)]), pod("b", shows=[("foreign", 30000)]), pod("c", shows=[("lb", 30000)])]
    world = rebuild(
        "arena", [], [], pods, rules=RebuildRules(offered=lambda place: place[0] == "lb" and place[1] >= 30000)
    )
    assert list(world.owners) == ["games/c"]


@pytest.mark.row("BD-21")
@pytest.mark.parametrize("text", ["{", "[" * 100_000, '[{"port": 1e999}]', '[{"loadBalancer": "\\ud800"}]'])
def test_a_hostile_annotation_does_not_stop_the_rebuild(text: str) -> None:
    hostile = pod("b")
    hostile = replace(hostile, annotations={**hostile.annotations, ENDPOINTS: text})
    assert states(rebuild("arena", [found()], [], [hostile, pod()])) == {30000: "bound"}


@pytest.mark.row("BD-04")
def test_the_default_request_counts() -> None:
    assert states(rebuild("arena", [found()], [], [pod(ports="")], rules=RebuildRules(default_spec=ONE))) == {
        30000: "bound"
    }


# ---- retained ports


def kept(name: str = "a", place: Place = ("lb", 30000), retain: int = 60, **changes: Any) -> TaggedEntry:
    """A listener whose tag says that its port is to be retained."""
    made = found(name, place, **changes)
    return replace(made, entry=replace(made.entry, retain=retain))


@pytest.mark.row("BD-22", "AL-19")
@pytest.mark.parametrize("pods", [[], [pod("b")], [pod(phase="Failed")], [pod(uid="new", ports="7777/SCTP@arena")]])
def test_a_dead_tag_that_asks_for_retention_is_retained(pods: list[PodView]) -> None:
    (entry,) = rebuild("arena", [kept(uid="old")], [], pods).owners["games/a"]
    assert (entry.state, entry.uid, entry.until) == (EntryState.RETAINED, "old", 0)


@pytest.mark.row("BD-22", "AL-19")
@pytest.mark.parametrize("seconds", [0, 60])
def test_the_pod_that_came_back_takes_over_what_it_publishes_or_was_promised(seconds: int) -> None:
    """Without retention in the tag: it was changed while the port was handed over."""
    shows = [] if seconds else [("lb", 30000)]
    heir = pod(uid="new", shows=shows)
    (entry,) = rebuild("arena", [kept(uid="old", retain=seconds)], [], [heir]).owners["games/a"]
    assert (entry.state, entry.uid, entry.target) == (EntryState.RETAINED, "new", "")


@pytest.mark.row("BD-22", "AL-21")
@pytest.mark.parametrize("heir", [pod(uid="new", ports=None), pod(uid="new", ports="1/TCP@arena"), pod(ports=None)])
def test_a_pod_that_does_not_ask_for_a_retained_port_gives_it_up(heir: PodView) -> None:
    assert states(rebuild("arena", [kept()], [], [heir])) == {30000: "releasing"}


@pytest.mark.row("BD-22")
def test_a_pod_that_is_served_already_gives_up_what_was_retained_for_it() -> None:
    world = rebuild("arena", [kept(uid="old"), kept(place=("lb", 30001))], [], [pod()])
    assert states(world) == {30000: "releasing", 30001: "bound"}


PLACES = st.tuples(st.sampled_from(["lb", "lb2"]), st.integers(30000, 30002))
NAMES = st.sampled_from(["a", "b", "c"])
REQUESTS = st.sampled_from([None, "", ONE, "7777/UDP@arena,9000/TCP@arena", "7777", "7777/UDP@lobby"])
founds = st.builds(
    kept,
    NAMES,
    PLACES,
    st.sampled_from([0, 60]),
    want=st.sampled_from(["7777/UDP", "9000/TCP", ""]),
    uid=st.sampled_from(["", "old"]),
)
live = st.builds(pod, NAMES, REQUESTS, st.lists(PLACES, max_size=3))


@pytest.mark.row("AL-19", "AL-01")
@settings(max_examples=300)
@given(
    st.lists(founds, max_size=5, unique_by=lambda f: f.entry.key),
    st.lists(founds, max_size=3),
    st.lists(live, max_size=3, unique_by=lambda p: p.name),
)
def test_every_place_has_one_owner_and_every_want_one_place(
    listeners: list[TaggedEntry], groups: list[TaggedEntry], pods: list[PodView]
) -> None:
    world = rebuild("arena", listeners, [replace(g, entry=replace(g.entry, listener="")) for g in groups], pods)
    entries = [(name, e) for name, held in world.owners.items() for e in held]
    places = [(e.lb, e.port) for _, e in entries]
    assert len(set(places)) == len(places)
    wants = [(name, e.uid, e.want) for name, e in entries if e.state is EntryState.BOUND]
    assert len(set(wants)) == len(wants)
    assert {(f.entry.lb, f.entry.port) for f in [*listeners, *groups]} <= set(places)
    alive = {p.full_name: p.uid for p in pods}
    assert all(alive.get(name) == e.uid for name, e in entries if e.state is EntryState.BOUND)


@pytest.mark.row("AL-19")
@settings(max_examples=300)
@given(st.lists(founds, max_size=5, unique_by=lambda f: f.entry.key), st.lists(live, max_size=3), st.randoms())
def test_the_order_of_lists_does_not_matter(listeners: list[TaggedEntry], pods: list[PodView], random: Any) -> None:
    pods = list({p.name: p for p in pods}.values())
    straight = rebuild("arena", listeners, [], pods)
    random.shuffle(listeners)
    random.shuffle(pods)
    assert rebuild("arena", listeners, [], pods) == straight


@pytest.mark.row("AL-19", "BD-21")
@pytest.mark.parametrize("lost", ["the ledger", "the ledger and every listener"])
def test_bound_pods_keep_their_ports_through_a_rebuild(lost: str) -> None:
    made = bound_world("7777/UDP@arena,7778/TCP@arena", arena=PurePool(room=9))
    held = made.held()
    tags = [] if "listener" in lost else [TaggedEntry("games/a", replace(e, state=EntryState.RELEASING)) for e in held]
    world = rebuild("arena", tags, [], made.pods.values())
    made.entries["a"] = {e.id: e for e in world.owners["games/a"]}
    shown = made.shown()
    made.run()
    assert (made.held(), made.shown()) == (held, shown)
