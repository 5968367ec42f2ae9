"""Somebody changes AWS, the ledger or a pod by hand: one audit repairs what is ours, and touches nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from domain.kubernetes.names import ENDPOINTS
from tests.fixtures.aws import Aws
from tests.support.ports.fleet import Fleet
from tests.support.ports.tampered import bound, carrier, listeners, once, shown, sound
from workers.cloud.driver import GroupSettings
from workers.cloud.errors import CloudDenied
from workers.cloud.tags import CLUSTER, CREATED_BY, LOAD_BALANCER, OWNER, POOL, PORT, UID, WANT
from workers.port_audit.reconciler import audit

OURS = (CLUSTER, POOL, UID, OWNER, PORT, WANT, LOAD_BALANCER, CREATED_BY)


@pytest.mark.row("BD-19")
@pytest.mark.parametrize("number", [1, 6])
def test_listeners_deleted_by_hand_are_made_again_on_the_same_ports(fleet: Fleet, aws: Aws, number: int) -> None:
    before = bound(fleet)
    for listener in listeners(fleet)[:number]:
        fleet.driver.delete_listener(listener.arn)
    once(fleet)
    assert shown(fleet) == before
    sound(fleet, aws)


@pytest.mark.row("BD-19")
def test_a_listener_and_its_target_group_deleted_by_hand_are_made_again(fleet: Fleet, aws: Aws) -> None:
    before = bound(fleet)
    gone = listeners(fleet)[0]
    fleet.driver.delete_listener(gone.arn)
    fleet.driver.delete_target_group(gone.target_group_arn)
    once(fleet)
    assert shown(fleet) == before
    assert [t.port for t in fleet.driver.targets(listeners(fleet)[0].target_group_arn)] == [7777]
    sound(fleet, aws)


@pytest.mark.row("BD-19")
def test_a_listener_that_was_pointed_elsewhere_is_pointed_back(fleet: Fleet, aws: Aws) -> None:
    before = bound(fleet)
    one = listeners(fleet)[0]
    other = fleet.driver.ensure_target_group(
        f"hand-{fleet.cluster}", one.protocol, 1, GroupSettings(aws.ids.vpc), {"made-by": "hand"}
    )
    aws.client().modify_listener(ListenerArn=one.arn, DefaultActions=[{"Type": "forward", "TargetGroupArn": other}])
    once(fleet)
    assert listeners(fleet)[0].target_group_arn == one.target_group_arn
    assert shown(fleet) == before
    sound(fleet, aws)


STRIPPED: dict[str, Callable[[Fleet], list[str]]] = {
    "listeners": lambda fleet: [listener.arn for listener in listeners(fleet)],
    "target groups": lambda fleet: [g.arn for g in fleet.driver.target_groups_owned(fleet.cluster)],
    "load balancer": lambda fleet: [carrier(fleet).arn],
}


@pytest.mark.row("PP-18", "BD-19")
@pytest.mark.parametrize("what", [*STRIPPED, "everything"])
@pytest.mark.parametrize("names", [OURS, (POOL,)], ids=["all", "pool"])
def test_tags_that_were_removed_are_restored(fleet: Fleet, aws: Aws, what: str, names: tuple[str, ...]) -> None:
    before = bound(fleet)
    lb, tagged = carrier(fleet), {arn: fleet.driver.tags_of([arn])[arn] for arn in everything(fleet)}  # type: ignore[attr-defined] # of the driver of AWS
    for arn in everything(fleet) if what == "everything" else STRIPPED[what](fleet):
        aws.client().remove_tags(ResourceArns=[arn], TagKeys=list(names))
    writes = {a: n for a, n in aws.counts().items() if a.startswith(("Create", "Delete", "Register"))}
    once(fleet)
    assert {arn: fleet.driver.tags_of([arn])[arn] for arn in tagged} == tagged  # type: ignore[attr-defined] # as above
    assert {a: n for a, n in aws.counts().items() if a.startswith(("Create", "Delete", "Register"))} == writes
    assert shown(fleet) == before
    assert [known.arn for known in fleet.ledger("arena").load_balancers] == [lb.arn]
    sound(fleet, aws)


def everything(fleet: Fleet) -> list[str]:
    return [arn for find in STRIPPED.values() for arn in find(fleet)]


@pytest.mark.row("PP-18")
def test_a_change_of_the_spec_takes_nothing_whose_tags_were_removed_for_a_strangers(fleet: Fleet, aws: Aws) -> None:
    before = bound(fleet)
    for arn in everything(fleet):
        aws.client().remove_tags(ResourceArns=[arn], TagKeys=list(OURS))
    fleet.api.patch("/apis/berthmaster.dev/v1alpha1/portpools/arena", {"spec": {"lbPolicy": "Uniform"}})
    fleet.settle()
    [known] = fleet.ledger("arena").load_balancers
    assert (known.capacity, known.used, known.foreign) == (50, 6, ())
    assert shown(fleet) == before


@pytest.mark.row("FZ-07")
def test_what_aws_does_not_let_us_tag_is_reported_and_keeps_nothing_else_from_repair(fleet: Fleet, aws: Aws) -> None:
    before = bound(fleet)
    one, other = listeners(fleet)[0], listeners(fleet)[3]
    aws.client().remove_tags(ResourceArns=[one.arn], TagKeys=list(OURS))
    fleet.driver.delete_listener(other.arn)
    aws.fault("AddTags", code="AccessDenied", times=100)
    once(fleet)
    assert shown(fleet) == before
    assert len(listeners(fleet)) == 6
    assert fleet.driver.find_listener(carrier(fleet).arn, one.port).tags == {}  # type: ignore[union-attr] # it is there


@pytest.mark.row("BD-21")
@pytest.mark.parametrize("fields", ["one owner", "all owners"])
def test_entries_deleted_by_hand_are_restored_for_live_pods(fleet: Fleet, aws: Aws, fields: str) -> None:
    before = bound(fleet)
    if fields == "all owners":
        fleet.redis.delete("{pp:arena}owners")
    else:
        fleet.redis.hdel("{pp:arena}owners", f"{fleet.namespace}/p1")
    once(fleet)
    assert shown(fleet) == before
    assert set(fleet.owners("arena")) == {f"{fleet.namespace}/p{n}" for n in range(3)}
    sound(fleet, aws)


@pytest.mark.row("BD-21", "FZ-07")
def test_an_entry_of_a_pod_that_is_gone_deleted_by_hand_leaves_neither_listener_nor_taken_port(
    fleet: Fleet, aws: Aws
) -> None:
    before = bound(fleet)
    fleet.redis.hdel("{pp:arena}owners", f"{fleet.namespace}/p1")
    fleet.delete("p1")
    fleet.settle()
    for _ in range(2):
        once(fleet)
    assert {name: fleet.shown(name) for name in ("p0", "p2")} == {name: before[name] for name in ("p0", "p2")}
    assert len(listeners(fleet)) == 4
    sound(fleet, aws)


@pytest.mark.row("BD-21")
@pytest.mark.parametrize("text", [None, "[]", "{", '[{"pool":"arena"}]'])
def test_outputs_changed_by_hand_are_restored(fleet: Fleet, aws: Aws, text: str | None) -> None:
    before = bound(fleet)
    fleet.api.patch(fleet.pod_path("p1"), {"metadata": {"annotations": {ENDPOINTS: text}}})
    fleet.settle()
    assert shown(fleet) == before
    sound(fleet, aws)


@pytest.mark.row("PP-07", "FZ-07")
def test_a_strangers_listener_is_counted_when_it_comes_and_when_it_goes(fleet: Fleet, aws: Aws) -> None:
    bound(fleet)
    group = fleet.driver.ensure_target_group(
        f"hand-{fleet.cluster}", "TCP", 1, GroupSettings(aws.ids.vpc), {"made-by": "hand"}
    )
    theirs = fleet.driver.ensure_listener(carrier(fleet).arn, 30100, "TCP", group, {"made-by": "hand"})
    once(fleet)
    [known] = fleet.ledger("arena").load_balancers
    assert (known.foreign, known.capacity) == ((30100,), 49)
    assert theirs in {listener.arn for listener in listeners(fleet)}
    fleet.driver.delete_listener(theirs)
    once(fleet)
    [known] = fleet.ledger("arena").load_balancers
    assert (known.foreign, known.capacity) == ((), 50)
    sound(fleet, aws)


@pytest.mark.row("FZ-07")
def test_a_listener_of_another_pod_in_the_place_of_a_bound_one_is_decided_by_the_tag_rule(
    fleet: Fleet, aws: Aws
) -> None:
    """Rule tagrule.

    p0's listener was replaced by hand with one that says p1's; p1 does not publish that port: p0 gets it back.
    """
    before = bound(fleet)
    one, two = listeners(fleet)[0], next(each for each in listeners(fleet) if each.tags[OWNER].endswith("/p1"))
    fleet.driver.delete_listener(one.arn)
    group = fleet.driver.ensure_target_group(
        f"bm-hand-{fleet.cluster}", "TCP", 1, GroupSettings(aws.ids.vpc), {**two.tags, PORT: str(one.port)}
    )
    fleet.driver.ensure_listener(carrier(fleet).arn, one.port, "TCP", group, {**two.tags, PORT: str(one.port)})
    for _ in range(2):
        once(fleet)
    assert shown(fleet) == before
    sound(fleet, aws)


@pytest.mark.row("BD-20")
def test_bound_pods_of_a_load_balancer_deleted_by_hand_keep_what_they_show_and_nothing_repeats(
    fleet: Fleet, aws: Aws
) -> None:
    before = bound(fleet)
    gone = carrier(fleet)
    fleet.driver.delete_load_balancer(gone.arn)
    once(fleet)
    assert shown(fleet) == before
    [left] = fleet.ledger("arena").load_balancers
    assert (left.capacity, left.used) == (0, 6)
    calls = sum(n for a, n in aws.counts().items() if not a.startswith("Describe"))
    once(fleet)
    assert sum(n for a, n in aws.counts().items() if not a.startswith("Describe")) == calls
    for n in range(3):
        fleet.delete(f"p{n}")
    once(fleet)
    once(fleet)
    assert fleet.ledger("arena").load_balancers == ()
    assert fleet.driver.target_groups_owned(fleet.cluster) == []


def test_a_pool_whose_audit_fails_does_not_keep_others_from_theirs(fleet: Fleet, aws: Aws) -> None:
    bound(fleet)
    fleet.pool("broken", vpcId="vpc-other")
    fleet.settle()
    fleet.driver.delete_listener(listeners(fleet)[0].arn)
    real = fleet.services.driver

    class Refusing:
        def on_behalf_of(self, caller: str, *rest: object, **named: object) -> object:
            if caller.endswith("/broken") or not caller.startswith("audit/"):
                raise CloudDenied("DescribeLoadBalancers", "AccessDenied", "no")
            return real("us-east-1")

    audit(fleet.other(driver=lambda _: Refusing(), pool_names=Ordered(["broken", "arena"])))
    fleet.settle()
    assert len(listeners(fleet)) == 6


class Ordered:
    """Names of pools, in this order."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def all(self) -> list[str]:
        return self.names
