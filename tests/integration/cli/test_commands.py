"""Commands as people type them, against a real Redis and the sandbox's Kubernetes API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner, Result

from compose.sandbox.redis_server import RedisServer
from tests.fixtures.kube import SandboxKube
from workers.cli.main import app

ARN = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/net/arena-0/0123456789abcdef"
POOL = {
    "apiVersion": "berthmaster.dev/v1alpha1",
    "kind": "PortPool",
    "metadata": {"name": "cli-arena"},
    "spec": {"region": "eu-west-1", "vpcId": "vpc-1", "startPort": 7000, "loadBalancers": [ARN]},
}
POOLS = "/apis/berthmaster.dev/v1alpha1/portpools"


def berthmaster(environment: Mapping[str, str], *arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, env={"BERTHMASTER_CLUSTER": "blue", **environment})


@pytest.fixture
def places(kube_sandbox: SandboxKube, crds_sandbox: None, redis_url: str) -> dict[str, str]:
    del crds_sandbox  # only its doing is wanted
    settings = kube_sandbox.settings
    token = settings.token.get_secret_value() if settings.token else ""
    return {
        "BERTHMASTER_REDIS__URL": redis_url,
        "BERTHMASTER_KUBERNETES__SERVER": settings.server or "",
        "BERTHMASTER_KUBERNETES__TOKEN": token,
    }


def named(result: Result) -> dict[str, Any]:
    return {check["name"]: check for check in orjson.loads(result.output)}


def test_the_doctor_finds_a_forgetful_redis(places: dict[str, str]) -> None:
    result = berthmaster(places, "doctor", "--json")  # the tests' own server keeps no file
    checks = named(result)
    assert result.exit_code == 1
    assert not checks["Redis keeps an append-only file"]["ok"]
    assert checks["Kubernetes answers"]["ok"]


def test_the_doctor_is_content_with_what_the_sandbox_runs(places: dict[str, str], tmp_path_factory: Any) -> None:
    server = RedisServer(tmp_path_factory.mktemp("durable")).start()
    try:
        result = berthmaster({**places, "BERTHMASTER_REDIS__URL": server.url}, "doctor")
    finally:
        server.kill()
    assert result.exit_code == 0, result.output
    assert "fail" not in result.output


def test_the_doctor_says_that_redis_does_not_answer(places: dict[str, str]) -> None:
    result = berthmaster({**places, "BERTHMASTER_REDIS__URL": "redis://127.0.0.1:1/0"}, "doctor", "--json")
    assert result.exit_code == 1
    assert not named(result)["Redis answers"]["ok"]


def test_status_shows_pools_as_their_status_says_and_the_queue(
    places: dict[str, str], kube_sandbox: SandboxKube
) -> None:
    kube_sandbox.api.create(POOLS, POOL)
    status = {"status": {"state": "Active", "capacity": 50, "allocated": 7, "waiting": 2, "epoch": 3}}
    kube_sandbox.api.patch(f"{POOLS}/cli-arena/status", status)
    result = berthmaster(places, "status", "--json")
    found = orjson.loads(result.output)
    assert result.exit_code == 0
    assert {"name": "cli-arena", "loadBalancers": [], **status["status"]} in found["pools"]
    assert found["queue"]["dirty"] == 0
    assert "cli-arena" in berthmaster(places, "status").output


def test_a_missing_setting_is_named_by_its_variable() -> None:
    result = berthmaster({"BERTHMASTER_CLUSTER": ""}, "status")
    assert result.exit_code == 2
    assert "BERTHMASTER_CLUSTER" in result.output
