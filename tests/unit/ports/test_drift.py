"""What the audit calls a difference, and what it does about it; small worlds, one question each."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from domain.kubernetes.names import ENDPOINTS, PORTS
from domain.port_audit.difference import Difference, DifferenceKind, Remedy
from domain.port_audit.drift import Comparison, differences
from domain.port_audit.rebuild import TaggedEntry
from domain.port_audit.sides import (
    AuditedLoadBalancer,
    CloudResource,
    CloudSide,
    Held,
    LedgerSide,
    UnusableLoadBalancer,
)
from domain.ports.entry import Entry, EntryState
from domain.ports.pod import PodView
from tests.support.ports.builders import entry

OWNER, PLACE = "games/a", ("lb-0", 30000)
LB = AuditedLoadBalancer("lb-0", "arn:lb", created=True, open=True)
TAGS = {"uid": "uid-of-a"}
ROW = '[{"pool":"arena","loadBalancer":"lb-0","port":30000,"containerPort":7777}]'


def listener(arn: str = "arn:listener", **changes: Any) -> CloudResource:
    found = TaggedEntry(OWNER, entry(listener=arn, state=EntryState.RELEASING))
    return replace(CloudResource(arn, PLACE, TAGS, found, "arn:group"), **changes)


def pod(name: str = "a", endpoints: str = ROW, **changes: Any) -> PodView:
    notes = {PORTS: "7777/UDP@arena", ENDPOINTS: endpoints}
    return replace(PodView("games", name, f"uid-of-{name}", 1, notes), **changes)


def held(*entries: Entry, owner: str = OWNER) -> Held:
    return {(e.lb, e.port): (owner, e) for e in entries or (entry(),)}


def found(before: Held, after: Held | None = None, **changes: Any) -> list[Difference]:
    """In a world where all is well but for `changes` and what is in the ledger."""
    said = {"balancers": {"lb-0": LB}, "known": {"lb-0": LB}, "listeners": (listener(),), "pods": [pod()], **changes}
    books = LedgerSide(before, before if after is None else after, said.pop("known"), said.pop("stock", {}))
    wanted = said.pop("wanted", TAGS)
    pods = {each.full_name: each for each in said.pop("pods")}
    said["groups"] = (CloudResource("arn:group", PLACE, {"retain": "60", **TAGS}), *said.get("groups", ()))
    world = Comparison(
        "arena", CloudSide(**said), books, pods, lambda *_: wanted, lambda _: TAGS, frozenset({"retain"})
    )
    return list(differences(world))


def told(differences: list[Difference]) -> list[tuple[DifferenceKind, Remedy]]:
    return [(each.kind, each.remedy) for each in differences]


def test_where_all_agree_nothing_differs() -> None:
    assert found(held(), targets={"arn:group": frozenset({"10.0.0.1:7777"})}) == []


def test_a_listener_that_is_gone_is_made_again() -> None:
    assert told(found(held(), listeners=())) == [(DifferenceKind.MISSING, Remedy.REBIND)]


@pytest.mark.parametrize(
    ("other", "kind"),
    [
        (listener("arn:other", tagged=None), DifferenceKind.FOREIGN),
        (listener("arn:other", tagged=TaggedEntry("games/b", entry(uid="uid-of-b"))), DifferenceKind.COLLISION),
    ],
)
def test_a_listener_in_the_place_of_ours_is_left_to_the_run_of_the_pod(
    other: CloudResource, kind: DifferenceKind
) -> None:
    assert told(found(held(), listeners=(other,))) == [(kind, Remedy.REBIND)]


def test_a_listener_that_forwards_elsewhere_is_made_again() -> None:
    assert told(found(held(), listeners=(listener(target_group="arn:other"),))) == [
        (DifferenceKind.MISSING, Remedy.REBIND)
    ]


@pytest.mark.parametrize("changed", ["before", "after"])
@pytest.mark.parametrize(
    "change",
    [{"listener": ""}, {"target": "10.0.0.2:7777"}, {"uid": "uid-of-b"}, {"state": EntryState.RELEASING}, None],
)
def test_nothing_is_said_about_an_entry_that_a_run_changes_meanwhile(changed: str, change: Any) -> None:
    other = held(entry(**change)) if change else {}
    before, after = (other, held()) if changed == "before" else (held(), other)
    gone = found(before, after, listeners=(), targets={"arn:group": frozenset()})
    assert [each for each in gone if each.kind is not DifferenceKind.ORPHAN] == []


def test_a_released_port_needs_no_listener() -> None:
    assert found(held(entry(state=EntryState.RELEASING)), listeners=(), pods=[]) == []


def test_tags_that_are_lost_are_restored_on_whatever_lost_them() -> None:
    bare = listener(tags={}, tagged=None)
    [one] = found(held(), listeners=(bare,))
    assert (one.kind, one.remedy, one.arn, one.tags) == (DifferenceKind.LOST_TAGS, Remedy.RETAG, "arn:listener", TAGS)
    [one] = found(held(), balancers={"lb-0": replace(LB, lost={"pool": "arena"})})
    assert (one.kind, one.remedy, one.arn, one.tags) == (
        DifferenceKind.LOST_TAGS,
        Remedy.RETAG,
        "arn:lb",
        {"pool": "arena"},
    )


def test_a_leftover_is_removed_unless_its_pod_publishes_it() -> None:
    assert told(found({}, pods=[])) == [(DifferenceKind.ORPHAN, Remedy.REMOVE)]
    assert told(found({}, pods=[pod(uid="uid-of-heir", endpoints="")])) == [(DifferenceKind.ORPHAN, Remedy.REMOVE)]
    assert told(found({})) == [(DifferenceKind.MISSING, Remedy.REBUILD)]


def test_a_target_group_of_nobody_is_removed() -> None:
    lone = CloudResource(
        "arn:lone", PLACE, TAGS, TaggedEntry("games/gone", entry(uid="x", listener="", target_group="arn:lone"))
    )
    assert told(found(held(), groups=(lone,))) == [(DifferenceKind.ORPHAN, Remedy.REMOVE)]


@pytest.mark.parametrize(("port", "wanted"), [(30001, [Remedy.CLOSE]), (30000, [])])
def test_an_untagged_listener_is_removed_unless_the_ledger_has_its_port(port: int, wanted: list[Remedy]) -> None:
    """The run of the port's owner finds it there, and decides."""
    untagged, ledger = listener(tagged=None, lone=True), held(entry(port=port, listener="", target_group=""))
    assert [each.remedy for each in found(ledger, listeners=(untagged,)) if each.arn == untagged.arn] == wanted


@pytest.mark.parametrize("lone", [False, True])
def test_an_untagged_target_group_is_removed_unless_a_listener_forwards_to_it(lone: bool) -> None:
    group = CloudResource("arn:lone", ("", 0), {}, lone=lone)
    assert told(found(held(), groups=(group,))) == ([(DifferenceKind.ORPHAN, Remedy.DISCARD)] if lone else [])


def test_an_entry_whose_pod_is_gone_gets_a_run() -> None:
    for pods in ([], [pod(uid="uid-of-heir", endpoints="")], [pod(annotations={})], [pod(phase="Succeeded")]):
        assert (DifferenceKind.ORPHAN, Remedy.RUN) in told(found(held(), pods=pods))


def test_a_pod_that_publishes_what_is_not_its_own_gets_a_run_and_only_one() -> None:
    both = ROW.replace("]", "," + ROW[1:].replace("30000", "30001"))
    [one] = found(held(), pods=[pod(), pod("b", both)])
    assert (one.kind, one.owner, one.remedy) == (DifferenceKind.COLLISION, "games/b", Remedy.RUN)
    [one] = found({}, listeners=(), pods=[pod("b", both)])
    assert (one.kind, one.owner, one.remedy) == (DifferenceKind.MISSING, "games/b", Remedy.RUN)


def test_a_load_balancer_that_aws_does_not_know_is_looked_for_once() -> None:
    assert told(found(held(), balancers={}, listeners=())) == [(DifferenceKind.MISSING, Remedy.RECHECK)]
    shut = {"lb-0": replace(LB, open=False)}
    assert told(found(held(), balancers={}, listeners=(), known=shut)) == [(DifferenceKind.MISSING, Remedy.NONE)]


def test_one_of_the_spec_that_never_was_is_named() -> None:
    [one] = found(held(), unusable={"arn:mine": UnusableLoadBalancer("mine", "there is no such load balancer")})
    assert (one.lb, one.kind, one.remedy) == ("mine", DifferenceKind.MISSING, Remedy.NONE)


def test_a_load_balancer_of_ours_outside_the_ledger_is_adopted() -> None:
    other = {"lb-0": LB, "lb-1": replace(LB, name="lb-1")}
    assert told(found(held(), balancers=other)) == [(DifferenceKind.ORPHAN, Remedy.ADOPT)]


def test_strangers_that_came_or_went_are_counted_again() -> None:
    with_one = {"lb-0": replace(LB, foreign=frozenset({30005}))}
    assert told(found(held(), balancers=with_one)) == [(DifferenceKind.FOREIGN, Remedy.RECHECK)]
    assert told(found(held(), known=with_one)) == [(DifferenceKind.FOREIGN, Remedy.RECHECK)]
    assert found(held(), balancers=with_one, known=with_one) == []
    on_ours = {"lb-0": replace(LB, foreign=frozenset({30000}))}
    assert found(held(), balancers=on_ours) == []


@pytest.mark.parametrize(
    ("there", "known", "wanted"),
    [(48, 50, [(DifferenceKind.FOREIGN, Remedy.RECHECK)]), (50, 50, []), (None, 50, []), (50, None, [])],
)
def test_room_that_others_took_or_left_is_counted_again(there: Any, known: Any, wanted: list[Any]) -> None:
    sides: dict[str, Any] = {"balancers": {"lb-0": replace(LB, capacity=there)}}
    sides["known"] = {"lb-0": replace(LB, capacity=known)}
    assert told(found(held(), **sides)) == wanted


@pytest.mark.parametrize(
    ("target", "there", "wanted"),
    [
        ("10.0.0.1:7777", {"10.0.0.1:7777", "10.0.0.2:7777"}, [(DifferenceKind.STALE_TARGET, Remedy.COMPARE)]),
        ("10.0.0.1:7777", set(), [(DifferenceKind.MISSING_TARGET, Remedy.COMPARE)]),
        ("", {"10.0.0.2:7777"}, [(DifferenceKind.STALE_TARGET, Remedy.COMPARE)]),
        ("", set(), []),
    ],
)
def test_targets_are_those_of_the_ledger(target: str, there: set[str], wanted: list[Any]) -> None:
    assert told(found(held(entry(target=target)), targets={"arn:group": frozenset(there)})) == wanted


def test_every_small_world_has_an_answer_that_comes_again_with_the_same_ids() -> None:
    states, pieces = [*EntryState], [(), (listener(),), (listener("arn:other"),), (listener(tagged=None, tags={}),)]
    for before, after, there, pods in product((None, *states), (None, *states), pieces, ([], [pod()], [pod(uid="x")])):
        worlds = [held(entry(state=state)) if state else {} for state in (before, after)]
        said = found(*worlds, listeners=there, pods=pods)
        assert [each.id for each in said] == [each.id for each in found(*worlds, listeners=there, pods=pods)]
        assert len({each.id for each in said}) == len(said)


def test_precreated_things_have_tags_of_their_own_and_are_made_again_whoever_has_the_port() -> None:
    stock, stray = {PLACE: ("arn:listener", "arn:group")}, {"arn:group": frozenset({"10.0.0.9:1"})}
    assert found({}, listeners=(listener(tagged=None),), pods=[], stock=stock) == []
    assert told(found({}, listeners=(), pods=[], stock=stock)) == [(DifferenceKind.MISSING, Remedy.RESTOCK)]
    assert told(found(held(), listeners=(), stock=stock)) == [(DifferenceKind.MISSING, Remedy.RESTOCK)]
    bare = found({}, listeners=(listener(tagged=None, tags={}),), pods=[], stock=stock)
    assert told(bare) == [(DifferenceKind.LOST_TAGS, Remedy.RETAG)]
    free = found({}, listeners=(listener(tagged=None),), pods=[], stock=stock, targets=stray)
    assert told(free) == [(DifferenceKind.STALE_TARGET, Remedy.DEREGISTER)]


def test_the_tags_of_a_port_that_is_being_handed_over_are_left_to_the_run() -> None:
    """It drops strangers before the tags name the new pod."""
    bare = listener(tags={}, tagged=None)
    assert found(held(entry(state=EntryState.RETAINED, target="")), listeners=(bare,), pods=[]) == []
    kept = found(held(entry(state=EntryState.RETAINED, target="", until=1)), listeners=(bare,), pods=[])
    assert told(kept) == [(DifferenceKind.LOST_TAGS, Remedy.RETAG)]


def test_a_tag_that_runs_change_is_restored_only_where_it_is_not_there() -> None:
    changed = listener(tags={**TAGS, "retain": "0"})
    assert found(held(), listeners=(changed,), wanted={**TAGS, "retain": "60"}) == []
    [one] = found(held(), wanted={**TAGS, "retain": "60"})
    assert one.tags == {"retain": "60"}


def test_a_stray_at_a_retained_port_is_deregistered_because_no_run_comes() -> None:
    kept, there = entry(state=EntryState.RETAINED, target="", until=1), {"arn:group": frozenset({"10.0.0.9:1"})}
    assert told(found(held(kept), pods=[], targets=there)) == [(DifferenceKind.STALE_TARGET, Remedy.DEREGISTER)]
