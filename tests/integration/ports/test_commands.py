"""`berthmaster audit` and `berthmaster explain`, as people type them: some in their own process, most in this one."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.fixtures.aws import Aws
from tests.integration.ports.conftest import Command
from tests.support.ports.fleet import Fleet
from workers.cloud.driver import GroupSettings
from workers.cloud.tags import UID
from workers.port_audit.reconciler import audit


def bound(fleet: Fleet) -> None:
    fleet.pool("arena", endPort=30001, autoCreate={"enabled": True, "maxLoadBalancers": 1, "parameters": nets(fleet)})
    for n in range(2):
        fleet.pod(f"p{n}", "7777/UDP@arena", ip=f"10.0.0.{n + 1}")
    fleet.settle()


def nets(fleet: Fleet) -> dict[str, Any]:
    return {"subnets": list(fleet.network.subnets)}


def changed(fleet: Fleet, aws: Aws) -> list[tuple[str, int]]:
    """Things go wrong by hand; kind and port of the differences that follow."""
    lb = fleet.driver.find_owned_load_balancers(fleet.cluster)[0]
    first, second = fleet.driver.listeners(lb.arn)
    fleet.driver.delete_listener(first.arn)
    aws.client().remove_tags(ResourceArns=[second.arn], TagKeys=list(second.tags))
    fleet.driver.register(second.target_group_arn, [("10.9.9.9", 1)])
    return [("missing", 30000), ("lost_tags", 30001), ("stale_target", 30001)]


def told(found: Any) -> list[tuple[str, int]]:
    return [(row["kind"], row["port"]) for row in found["differences"]]


@pytest.mark.row("FZ-07", "BD-19")
def test_the_audit_prints_what_differs_and_repairs_only_when_asked(
    fleet: Fleet, aws: Aws, berthmaster: Command, berthmaster_process: Command
) -> None:
    bound(fleet)
    sound = {"differences": [], "targets": {"arena": 2}, "problems": []}
    assert berthmaster_process("audit", "--json")[:2] == (0, sound)
    wrong = changed(fleet, aws)
    before = (fleet.ledger("arena"), aws.counts().get("AddTags"), {*fleet.redis.scan_iter("{pp:*")})
    status, found, _ = berthmaster("audit", "--json")
    assert (status, told(found)) == (1, wrong)
    status, found, _ = berthmaster("audit", "--fix", "--dry-run", "--json")
    assert (status, told(found)) == (1, wrong)
    assert [row["outcome"].partition(":")[0] for row in found["differences"]] == ["would"] * 3
    assert (fleet.ledger("arena"), aws.counts().get("AddTags"), {*fleet.redis.scan_iter("{pp:*")}) == before
    assert fleet.queued() == []
    status, found, _ = berthmaster("audit", "--fix", "--json")
    assert (status, [row["outcome"] for row in found["differences"]]) == (0, ["done, or in progress"] * 3)
    fleet.settle()
    assert berthmaster("audit", "--json")[:2] == (0, sound)
    assert [fleet.state(f"p{n}") for n in range(2)] == ["Bound", "Bound"]


def test_the_table_names_pool_place_and_what_is_wrong(fleet: Fleet, aws: Aws, berthmaster: Command) -> None:
    bound(fleet)
    changed(fleet, aws)
    status, text, _ = berthmaster("audit", "--port-pool", "arena")
    assert status == 1
    for word in ("arena", "30000", "the listener is gone", "10.9.9.9:1 is registered", "restore the tags"):
        assert word in text
    assert "3 differences" in text


def test_what_cannot_be_read_is_a_problem_and_not_a_difference(fleet: Fleet, berthmaster: Command) -> None:
    bound(fleet)
    status, found, _ = berthmaster("audit", "--json", BERTHMASTER_AWS__ENDPOINT_URL="http://127.0.0.1:1")
    assert (status, found["differences"]) == (1, [])
    assert "port pool arena" in found["problems"][0]
    status, found, _ = berthmaster("audit", "--json", "--port-pool", "none")
    assert (status, found["problems"]) == (1, ["no PortPool none is known"])


def test_a_repair_by_hand_leaves_young_leftovers_to_the_next(fleet: Fleet, aws: Aws, berthmaster: Command) -> None:
    """A run may be between its call and its record."""
    bound(fleet)
    first, second = fleet.driver.listeners(fleet.driver.find_owned_load_balancers(fleet.cluster)[0].arn)
    tags, name = {**second.tags, UID: "gone"}, f"bm-lone-{fleet.cluster}"
    fleet.driver.ensure_target_group(name, "TCP", 1, GroupSettings(aws.ids.vpc), tags)
    fleet.driver.delete_listener(first.arn)
    status, found, _ = berthmaster("audit", "--fix", "--json", BERTHMASTER_PORTS__ORPHAN_GRACE="1h")
    outcomes = {row["kind"]: row["outcome"] for row in found["differences"]}
    assert (status, outcomes["missing"]) == (1, "done, or in progress")
    assert "not been there long enough" in outcomes["orphan"]
    assert fleet.driver.find_target_group(name)
    assert berthmaster("audit", "--fix", "--json")[0] == 0
    assert fleet.driver.find_target_group(name) is None


def test_explain_says_what_a_bound_pod_has(fleet: Fleet, berthmaster_process: Command) -> None:
    bound(fleet)
    status, found, _ = berthmaster_process("explain", "pod", f"{fleet.namespace}/p0", "--json")
    assert status == 0
    assert found["pod"]["state"] == "Bound"
    [pool] = found["pools"]
    assert [(e["port"], e["state"], e["target"]) for e in pool["entries"]] == [(30000, "bound", "10.0.0.1:7777")]
    assert found["run"]["doing"] == "none until something changes"


def test_explain_says_why_a_pod_waits_where_it_stands_and_what_aws_said(
    fleet: Fleet, aws: Aws, berthmaster: Command
) -> None:
    bound(fleet)
    for name in ("x", "y"):
        fleet.pod(name, "7777/UDP@arena", ip="10.0.0.9")
        fleet.settle()
    status, found, _ = berthmaster("explain", "pod", f"{fleet.namespace}/y", "--json")
    [pool] = found["pools"]
    assert (status, found["pod"]["state"], pool["free"]) == (0, "NoPortAvailable", 0)
    assert (pool["place"]["ahead"], pool["waiting"], pool["demand"], pool["epoch"]) == (
        1,
        2,
        2,
        fleet.ledger("arena").epoch,
    )
    assert [(lb["used"], lb["why_not"]) for lb in pool["candidates"]] == [(2, "full")]
    assert pool["auto_create"] == "1 of 1 created"
    assert found["run"]["doing"].startswith("next run in ")
    text = berthmaster("explain", "pod", f"{fleet.namespace}/y")[1]
    for word in ("NoPortAvailable", "1 of 2 waiters before it", "full", "1 of 1 created", f"epoch {pool['epoch']}"):
        assert word in text
    assert len(text.splitlines()) <= 24  # one screen


def test_explain_says_that_a_pod_waits_for_its_own_namespace(fleet: Fleet, berthmaster: Command) -> None:
    fleet.pool("arena", maxPortsPerNamespace=1)
    for n in range(2):
        fleet.pod(f"p{n}", "7777/UDP@arena", ip=f"10.0.0.{n + 1}")
    fleet.settle()
    [waits] = [name for name in ("p0", "p1") if fleet.state(name) == "NoPortAvailable"]
    [pool] = berthmaster("explain", "pod", f"{fleet.namespace}/{waits}", "--json")[1]["pools"]
    assert pool["quota"].endswith("1 of the 1 ports of its namespace are taken, so that the pod waits")


def test_explain_remembers_the_last_error_of_aws(fleet: Fleet, aws: Aws, berthmaster: Command) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    aws.fault("CreateTargetGroup", code="TooManyTargetGroups", times=1)
    fleet.sync()
    fleet.drain()
    fleet.scale()
    fleet.drain()
    found = berthmaster("explain", "pod", f"{fleet.namespace}/a", "--json")[1]
    assert (found["trouble"]["action"], found["trouble"]["code"]) == ("CreateTargetGroup", "TooManyTargetGroups")
    assert "after 1 failure in a row" in found["run"]["doing"]
    assert "last AWS error" in berthmaster("explain", "pod", f"{fleet.namespace}/a")[1]


def test_explain_says_that_a_pool_cannot_grow(fleet: Fleet, aws: Aws, berthmaster: Command) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1")
    aws.fault("CreateLoadBalancer", code="AccessDenied", times=1)
    fleet.settle()
    [pool] = berthmaster("explain", "pod", f"{fleet.namespace}/a", "--json")[1]["pools"]
    assert pool["auto_create"] == "0 of 3 created; more are needed and cannot be created"
    assert "AccessDenied" in pool["trouble"]


@pytest.mark.parametrize("ports", ["nonsense", "7777/UDP@nowhere", "7777/UDP@" + "a" * 500, "\x1b[31m[red]1/TCP@x"])
def test_explain_has_an_answer_for_any_pod(fleet: Fleet, berthmaster: Command, ports: str) -> None:
    fleet.pod("odd", ports.replace("\x1b", ""), ip="10.0.0.1")
    fleet.settle()
    status, text, errors = berthmaster("explain", "pod", f"{fleet.namespace}/odd")
    assert (status, errors) == (0, "")
    assert f"{fleet.namespace}/odd" in text


def test_explain_knows_a_pod_that_is_gone_and_refuses_what_is_no_name(fleet: Fleet, berthmaster: Command) -> None:
    status, text, errors = berthmaster("explain", "pod", f"{fleet.namespace}/never")
    said = f"{fleet.namespace}/never: Kubernetes has no such pod, and nothing is held under its name\n"
    assert (status, text, errors) == (1, "", said)
    status, found, errors = berthmaster("explain", "pod", f"{fleet.namespace}/never", "--json")
    assert (status, found["pod"], found["pools"], errors) == (1, None, [], said)
    assert berthmaster("explain", "pod", "never")[0] == 2


def test_explain_shows_what_a_pod_that_is_gone_still_holds(fleet: Fleet, berthmaster: Command) -> None:
    fleet.pool("arena")
    fleet.pod("a", "7777/UDP@arena", ip="10.0.0.1", ports_retain="1h")
    fleet.settle()
    fleet.delete("a")
    fleet.settle()
    status, text, errors = berthmaster("explain", "pod", f"{fleet.namespace}/a")
    assert status == 1
    assert "retained" in text
    assert "its name still has ports, or waits" in errors


def test_an_audit_that_takes_long_says_what_it_is_at(fleet: Fleet, berthmaster: Command) -> None:
    bound(fleet)
    slow = '{"describe": {"per_second": 1, "burst": 1}}'
    status, found, errors = berthmaster("audit", "--json", BERTHMASTER_AWS__RATES=slow)
    assert (status, found["problems"]) == (0, [])
    assert re.search(r"^audit: port pool arena \(1 of 1\), .*; \d+ AWS calls in \d+ s$", errors, re.MULTILINE), errors


def test_the_beats_audit_and_that_by_hand_agree(fleet: Fleet, aws: Aws, berthmaster: Command) -> None:
    bound(fleet)
    changed(fleet, aws)
    for _ in range(2):
        audit(fleet.services)
        fleet.settle()
    assert berthmaster("audit", "--json")[0] == 0
