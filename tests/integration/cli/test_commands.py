"""Commands as people type them, against a real Redis and the sandbox's Kubernetes API."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from redis import Redis

from berthmaster.jobs.unreadable import PROBLEM
from compose.sandbox.free_ports import free_port
from tests.fixtures.kube import SandboxKube
from tests.support.command_line import berthmaster
from tests.support.jobs.slot_world import SlotWorld

ARN = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/net/arena-0/0123456789abcdef"
POOL = {
    "apiVersion": "berthmaster.dev/v1alpha1",
    "kind": "PortPool",
    "metadata": {"name": "cli-arena"},
    "spec": {"region": "eu-west-1", "vpcId": "vpc-1", "startPort": 7000, "loadBalancers": [ARN]},
}
GROUP = "berthmaster.dev/v1alpha1"
POOLS = "/apis/berthmaster.dev/v1alpha1/portpools"


@pytest.fixture
def arena(kube_sandbox: SandboxKube, places: dict[str, str]) -> None:
    del places  # our kinds are served
    kube_sandbox.api.create(POOLS, POOL)


@pytest.mark.usefixtures("arena")
def test_status_shows_pools_as_their_status_says_and_the_queue(
    places: dict[str, str], kube_sandbox: SandboxKube
) -> None:
    status = {"status": {"state": "Active", "capacity": 50, "allocated": 7, "waiting": 2, "epoch": 3}}
    wrong = {"type": "Ready", "status": "False", "reason": "ScaleUpFailed", "message": "SubnetNotFound"}
    conditions = [{"type": "Valid", "status": "True", "reason": "Valid", "message": ""}, wrong]
    kube_sandbox.api.patch(f"{POOLS}/cli-arena/status", {"status": status["status"] | {"conditions": conditions}})
    result = berthmaster(places, "status", "--json")
    found = orjson.loads(result.output)
    assert result.exit_code == 0
    row = {"name": "cli-arena", "loadBalancers": [], "problem": "ScaleUpFailed: SubnetNotFound"}
    assert row | status["status"] in found["portPools"]
    assert found["queue"]["dirty"] == 0
    assert "cli-arena" in berthmaster(places, "status").output


def test_status_shows_pod_pools_and_each_of_their_slots(
    places: dict[str, str], kube_sandbox: SandboxKube, redis: Redis
) -> None:
    counts = {"open": 1, "booting": 0, "away": 0, "claimed": 0, "draining": 1}
    told = {"pods": counts, "desiredReplicas": 2, "waiting": 3, "reason": "enough [sic]"}
    name = pod_pool(kube_sandbox, "cli-runners", told)
    world = SlotWorld(redis, name)
    world.add("a")
    world.planned("kept")
    world.submit("runs")
    world.deliver_all()
    world.add("b", ("*",))
    world.ledger.quarantine("b")
    result = berthmaster(places, "status", "--json")
    found = next(pool for pool in orjson.loads(result.output)["podPools"] if pool["name"] == name)
    assert result.exit_code == 0
    assert (found["pods"], found["desired"], found["waiting"], found["problem"]) == (counts, 2, 3, "")
    assert [(pod["pod"], pod["view"], [slot["state"] for slot in pod["slots"]]) for pod in found["slots"]] == [
        ("pod-a", "open", ["reserved", "running", "idle"]),
        ("pod-b", "away", ["closed"]),
    ]
    assert [(slot["job"], slot["accepts"]) for slot in found["slots"][0]["slots"]] == [
        ("kept", []),
        ("runs", ["plan"]),
        ("", ["plan"]),
    ]
    text = berthmaster(places, "status").output
    assert f"{name}  ▣■□ x\n" in text
    assert "1 open, 1 draining" in text
    assert "enough [sic]" in text


def test_status_says_what_is_wrong_with_a_pod_pool(places: dict[str, str], kube_sandbox: SandboxKube) -> None:
    wrong = {"type": "Ready", "status": "False", "reason": "PodsNeverReady", "message": "5 pods never reported"}
    name = pod_pool(kube_sandbox, "cli-barred", {"conditions": [wrong]})
    new = pod_pool(kube_sandbox, "cli-new", {})
    found = {pool["name"]: pool for pool in orjson.loads(berthmaster(places, "status", "--json").output)["podPools"]}
    assert (found[name]["problem"], found[name]["slots"]) == ("5 pods never reported", [])
    assert (found[new]["desired"], found[new]["pods"], found[new]["problem"]) == (None, {}, "")
    text = berthmaster(places, "status").output
    assert "5 pods never reported" in text
    assert "no worker has reconciled it yet" in text


@pytest.mark.row("HO-07")
def test_a_pool_whose_ledger_cannot_be_read_is_one_row_that_says_so(
    places: dict[str, str], kube_sandbox: SandboxKube, redis: Redis
) -> None:
    broken, good = (pod_pool(kube_sandbox, name, {}) for name in ("cli-broken", "cli-good"))
    for name in (broken, good):
        SlotWorld(redis, name).add("a")
    redis.hset(f"{{sp:{broken}}}pods", "a", "nonsense")
    result = berthmaster(places, "status", "--json")
    found = {pool["name"]: pool for pool in orjson.loads(result.output)["podPools"]}
    assert result.exit_code == 1
    assert found[broken]["slots"] is None
    assert PROBLEM in found[broken]["problem"]
    assert ([pod["pod"] for pod in found[good]["slots"]], found[good]["problem"]) == (["pod-a"], "")
    assert any(problem.startswith(f"{broken}: {PROBLEM}") for problem in orjson.loads(result.output)["problems"])
    redis.hset(f"{{sp:{good}}}jobs", "ghost", "nonsense")
    redis.zadd(f"{{sp:{good}}}later", {"ghost": 0})
    SlotWorld(redis, good).sweep()
    problems = orjson.loads(berthmaster(places, "status", "--json").output)["problems"]
    assert f"{good}: the record of job ghost cannot be read: see docs/operations.md" in problems
    text = berthmaster(places, "status").output
    assert f"{good}  □□□\n" in text
    for command in (("jobs", broken), ("explain", "pod-pool", broken)):
        refused = berthmaster(places, *command)
        assert refused.exit_code == 1
        assert PROBLEM in refused.output + refused.stderr


def pod_pool(kube: SandboxKube, name: str, status: dict[str, Any]) -> str:
    """Its full name."""
    template = {"spec": {"containers": [{"name": "runner", "image": "runner"}]}}
    body = {"apiVersion": GROUP, "kind": "PodPool", "metadata": {"name": name}, "spec": {"template": template}}
    kube.api.create(kube.path("podpools", group=GROUP), body)
    if status:
        kube.api.patch(f"{kube.path('podpools', name, group=GROUP)}/status", {"status": status})
    return f"{kube.namespace}/{name}"


@pytest.mark.parametrize(
    ("away", "said"),
    [
        ({"BERTHMASTER_REDIS__URL": "redis://127.0.0.1:1/0"}, "is BERTHMASTER_REDIS__URL right, and does Redis run?"),
        ({"BERTHMASTER_KUBERNETES__SERVER": "http://127.0.0.1:1"}, "lead to an API server that runs?"),
        ({"BERTHMASTER_KUBERNETES__TOKEN": "wrong"}, "permit it, or use another account (KUBECONFIG"),
    ],
)
def test_what_cannot_be_read_names_the_way_out(places: dict[str, str], away: dict[str, str], said: str) -> None:
    result = berthmaster({**places, **away}, "status", "--json")
    problems = orjson.loads(result.output)["problems"]
    assert result.exit_code == 1
    assert len(problems) == 1
    assert said in problems[0]


def test_an_audit_that_read_nothing_counts_no_differences(places: dict[str, str]) -> None:
    result = berthmaster({**places, "BERTHMASTER_REDIS__URL": "redis://127.0.0.1:1/0"}, "audit")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "does Redis run?" in result.stderr


def test_a_missing_setting_is_named_by_its_variable() -> None:
    result = berthmaster({"BERTHMASTER_CLUSTER": ""}, "status")
    assert result.exit_code == 2
    assert "BERTHMASTER_CLUSTER" in result.output


@pytest.mark.parametrize("command", [("status",), ("healthcheck", "publisher")])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("BERTHMASTER_REDIS", '{"url": "redis://:of-redis@r/0"'),
        ("BERTHMASTER_REDIS__FAILOVER_WAIT", "99999999999d"),
        ("BERTHMASTER_REDIS__FAILOVER_WAIT", "two minutes"),
        ("BERTHMASTER_REDIS__FAILOVER_WAIT", "10m"),  # the probes would end the publisher in the middle of it
    ],
)
def test_a_setting_that_makes_no_sense_is_named_and_not_repeated(
    command: tuple[str, ...], name: str, text: str
) -> None:
    result = berthmaster({"BERTHMASTER_CLUSTER": "test", name: text}, *command)
    assert result.exit_code == 2
    assert result.output.startswith(f"{name}: ")
    assert "of-redis" not in result.output


def test_a_publisher_names_the_setting_that_makes_no_sense() -> None:
    env = {**os.environ, "BERTHMASTER_CLUSTER": "test", "BERTHMASTER_REDIS__URL": "redis://:of-redis@r:port/0"}
    ended = subprocess.run([sys.executable, "-m", "events"], env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith("BERTHMASTER_REDIS__URL: ")
    assert "of-redis" not in ended.stderr


def test_a_publisher_without_a_cluster_to_look_at_says_what_to_set(tmp_path: Path) -> None:
    env = {**os.environ, "BERTHMASTER_CLUSTER": "test", "KUBECONFIG": str(tmp_path / "none"), "HOME": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-m", "events"], env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith("neither BERTHMASTER_KUBERNETES__SERVER nor a kubeconfig"), ended.stderr


def test_a_default_spec_that_nobody_can_be_served_by_is_refused_at_the_start() -> None:
    result = berthmaster({"BERTHMASTER_PORTS__DEFAULT_SPEC": "7777/UPD@arena"}, "status")
    assert result.exit_code == 2
    assert result.output.startswith("BERTHMASTER_PORTS__DEFAULT_SPEC: ")
    assert "'7777/UPD@arena'" in result.output


def test_a_database_that_redis_does_not_have_is_said(places: dict[str, str]) -> None:
    url = places["BERTHMASTER_REDIS__URL"].rpartition("/")[0] + "/77"
    result = berthmaster({**places, "BERTHMASTER_REDIS__URL": url}, "doctor", "--json")
    (check,) = (each for each in orjson.loads(result.output) if each["name"] == "Redis answers")
    assert "DB index is out of range: is BERTHMASTER_REDIS__URL right" in check["found"]
    assert berthmaster({**places, "BERTHMASTER_REDIS__URL": url}, "jobs", "ci/runners").exit_code == 1


def test_the_doctor_names_settings_that_nobody_reads(places: dict[str, str]) -> None:
    others = {"BERTHMASTER_REDS__URL": "redis://r/0", "BERTHMASTER_FLOWER_PORT": "tcp://10.0.0.1:5555"}  # by Kubernetes
    checks = orjson.loads(berthmaster({**places, **others}, "doctor", "--json").output)
    (check,) = (each for each in checks if each["name"] == "Settings are known")
    said = "BERTHMASTER_REDS__URL: there is no such setting; is BERTHMASTER_REDIS__URL meant?"
    assert (check["found"], check["ok"], check["warns"]) == (said, True, True)


def test_flower_does_not_start_with_a_password_that_nobody_could_give() -> None:
    result = berthmaster({"FLOWER_BASIC_AUTH": "nopassword"}, "flower")
    assert (result.exit_code, "must be USER:PASSWORD" in result.output) == (2, True)


def test_pools_that_cannot_be_read_are_no_empty_table(places: dict[str, str]) -> None:
    away = {**places, "BERTHMASTER_KUBERNETES__SERVER": f"http://127.0.0.1:{free_port()}"}
    result = berthmaster(away, "status")
    assert (result.exit_code, "capacity" in result.output) == (1, False)
    assert "BERTHMASTER_KUBERNETES__SERVER" in result.output
