"""A dry run says what the next run would do, without doing anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest
from redis import Redis
from typer.testing import CliRunner

from tests.fixtures.kube import Kube
from tests.integration.pod_pools.conftest import MakePool
from tests.support.pods.pod_pool_world import PodPoolWorld
from tests.support.pods.token_world import TOKEN_SPEC, TokenWorld
from workers.cli.main import app
from workers.pod_pools.decision_log import latest_decision
from workers.pod_pools.explain import PodPoolDryRun, dry_run

Change = Callable[[PodPoolWorld], object]


@pytest.fixture
def make(make_pool: MakePool) -> Iterator[Callable[..., PodPoolWorld]]:
    pools: list[PodPoolWorld] = []

    def world(**spec: Any) -> PodPoolWorld:
        pools.append(make_pool(**{"minReplicas": 2, "maxReplicas": 5, "runnerToken": TOKEN_SPEC} | spec))
        return pools[-1]

    yield world
    for pool in pools:
        TokenWorld(pool).lose_user()


def everything(pool: PodPoolWorld) -> tuple[dict[bytes, Any], dict[str, str]]:
    """All of Redis, and the version of each object."""
    redis: Any = pool.redis
    root = f"/api/v1/namespaces/{pool.namespace}"
    kinds = (pool.path, f"{root}/pods", f"{root}/secrets", f"{root}/events")
    objects = [item["metadata"] for kind in kinds for item in pool.api.list(kind)["items"]]
    stored = {key: redis.dump(key) for key in redis.keys("*")}
    return stored, {meta["uid"]: meta["resourceVersion"] for meta in objects}


def plan_of(pool: PodPoolWorld) -> PodPoolDryRun:
    before = everything(pool)
    plan = dry_run(pool.services, f"{pool.namespace}/runners")
    assert plan
    assert everything(pool) == before
    return plan


def live(pool: PodPoolWorld) -> set[str]:
    return {pod["metadata"]["name"] for pod in pool.pods() if "deletionTimestamp" not in pod["metadata"]}


def wait_for_a_slot(pool: PodPoolWorld) -> None:
    for n in range(9):
        pool.slots.submit(f"j{n}", "apply")


CHANGES: dict[str, Change] = {
    "nothing": lambda pool: pool.change(),
    "more": lambda pool: pool.change(minReplicas=4),
    "fewer": lambda pool: pool.change(minReplicas=0),
    "jobs": wait_for_a_slot,
    "token": lambda pool: pool.change(runnerToken=TOKEN_SPEC | {"rotateAfter": "0s"}),
    "most": lambda pool: pool.change(minReplicas=0, maxReplicas=1),
}


@pytest.mark.row("SD-29", "SD-22")
@pytest.mark.parametrize("change", CHANGES)
def test_what_a_dry_run_says_is_what_the_next_run_does(make: Callable[..., PodPoolWorld], change: str) -> None:
    pool = make()
    pool.settle()
    CHANGES[change](pool)
    plan, before = plan_of(pool), live(pool)
    working = {(pod.name, "protect") for pod in pool.ledger_pods() if pod.busy}
    assert (plan.problem, plan.gone, set(plan.steps)) == ("", (), working)
    pool.run()
    kept = latest_decision(pool.slots.ledger)
    assert kept
    assert (plan.change, plan.reason, plan.size) == (kept.change, kept.reason, kept.size)
    assert (plan.create, set(plan.remove)) == (len(live(pool) - before), before - live(pool))
    assert plan.token.startswith("is replaced" if change == "token" else "stays: it was made")
    assert len(TokenWorld(pool).stored()) == (2 if change == "token" else 1)


@pytest.mark.row("SD-29")
def test_a_dry_run_says_what_each_pod_needs(make: Callable[..., PodPoolWorld]) -> None:
    pool = make(minReplicas=1)
    plan = plan_of(pool)
    assert (plan.token, plan.steps) == ("the first is made", ())
    pool.settle()
    (name,) = pool.names()
    pool.ready(name, "False")
    assert plan_of(pool).steps == ((name, "quarantine"),)
    pool.ready(name, "True")
    pool.change(template={"spec": {"containers": [{"name": "runner", "image": "runner:2"}]}})
    assert plan_of(pool).steps == ((name, "replace"),)
    pool.end(name)
    assert plan_of(pool).gone == (name,)


@pytest.mark.row("SD-29", "SD-20")
def test_a_dry_run_says_what_keeps_a_run_from_deciding(make: Callable[..., PodPoolWorld], redis: Redis) -> None:
    pool = make()
    pool.settle()
    redis.flushall()
    assert "not every pod has reported" in plan_of(pool).problem
    pool.change(minReplicas=9, maxReplicas=9)
    pool.api.patch(f"{pool.path}/runners", {"spec": {"template": {"spec": {"containers": None}}}})
    assert "containers is empty" in plan_of(pool).problem
    pool.api.delete(f"{pool.path}/runners")
    assert dry_run(pool.services, f"{pool.namespace}/runners") is None


@pytest.mark.row("SD-29")
def test_explain_says_what_the_next_run_would_do(make: Callable[..., PodPoolWorld], kube: Kube, redis_url: str) -> None:
    pool = make()
    pool.settle()
    pool.change(minReplicas=4, template={"spec": {"containers": [{"name": "runner", "image": "runner:2"}]}})
    settings = kube.settings
    values = {"SERVER": settings.server, "TOKEN": settings.token and settings.token.get_secret_value()}
    values["CA_FILE"] = str(settings.ca_file) if settings.ca_file else None
    places = {f"BERTHMASTER_KUBERNETES__{name}": value for name, value in values.items() if value}
    run = CliRunner(env={"BERTHMASTER_CLUSTER": "test", "BERTHMASTER_REDIS__URL": redis_url, **places})
    words = ["explain", "pod-pool", f"{pool.namespace}/runners", "--dry-run"]
    said = run.invoke(app, words)
    assert said.exit_code == 0, said.output
    lines = said.output.splitlines()
    assert [line.split(":")[0] for line in lines[:5]] == ["reconcile", "health", "health", "token", "scale"]
    assert "to 4 pods: 2 pods booting" in lines[4]
    assert orjson.loads(run.invoke(app, [*words, "--json"]).output)["create"] == 2
    now = run.invoke(app, words[:3]).output.splitlines()
    assert {"  pods: 2 open, 2 free", "  idle slots: 2 any, 4 plan", "  last down: never"} <= set(now)
    words[2] = f"{pool.namespace}/none"
    missing = run.invoke(app, words)
    assert (missing.exit_code, missing.stdout, "no such PodPool" in missing.stderr) == (1, "", True)
    listed = run.invoke(app, ["jobs", f"{pool.namespace}/runners"])
    assert (listed.exit_code, listed.stderr) == (0, "")  # it is there, and has no jobs
