"""Jobs through the whole system, with real Celery workers as runner pods."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from berthmaster.client import Fleet, Request
from compose.sandbox.environment import CLUSTER
from compose.sandbox.workload import NAMESPACE
from tests.support.command_line import berthmaster
from tests.support.jobs.runner_pods import RunnerPods
from tests.support.servers.whole import whole
from tests.support.waiting import eventually

POOL = f"{NAMESPACE}/runners"
PATH = f"/apis/berthmaster.dev/v1alpha1/namespaces/{NAMESPACE}/podpools"


def request(job: str, phases: tuple[str, ...] = ("plan",), **kwargs: object) -> Request:
    return Request(job, POOL, "work", kwargs=kwargs, phases=phases)


@pytest.mark.row("SL-18", "SD-07", "SL-14", "SL-16", "SD-05", "SD-28", "SL-28", "SD-26")
def test_jobs_start_pods_run_once_wait_for_a_person_and_leave_nothing_behind(
    tmp_path: Path, kube_kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with whole(tmp_path / "stack", kube_kind, 1, monkeypatch) as system:
        url = system.stack.redis.url
        template = {"spec": {"containers": [{"name": "runner", "image": "runner"}]}}
        spec = {"template": template, "maxReplicas": 2, "scaling": {"upCooldown": "1s", "downCooldown": "1s"}}
        spec |= {"runnerToken": {"secretName": "runner-token"}}
        body = {"apiVersion": "berthmaster.dev/v1alpha1", "kind": "PodPool", "metadata": {"name": "runners"}}
        system.api.create(PATH, body | {"spec": spec})
        with RunnerPods(system.api, NAMESPACE, tmp_path, url) as pods, Fleet(url) as fleet:
            two = fleet.run(request("two", ("plan", "apply")), timedelta(seconds=90))
            assert two.state == "reserved"
            for n in range(8):
                fleet.submit(request(f"j{n}", seconds=0.2))
            confirmed = berthmaster(
                {"BERTHMASTER_REDIS__URL": url, "BERTHMASTER_CLUSTER": CLUSTER}, "confirm", POOL, "two", two.plan
            )
            assert confirmed.exit_code == 0, confirmed.output
            for n in range(8):
                assert fleet.run(request(f"j{n}", seconds=0.2), timedelta(seconds=60)).outcome == "succeeded"
            eventually(lambda: (record := fleet.job(POOL, "two")) and record.outcome == "succeeded", 30)
            eventually(lambda: system.api.list(f"/api/v1/namespaces/{NAMESPACE}/pods")["items"] == [], 60)
            ended = {(result.job, result.state) for result in fleet.results(POOL, "0")}
            assert ended == {("two", "reserved"), ("two", "succeeded"), *((f"j{n}", "succeeded") for n in range(8))}
            assert 1 <= len(pods.runners) <= 3
        system.stack.check()


@pytest.mark.row("SD-26", "SD-22")
def test_a_token_is_replaced_under_real_runners_once_nothing_runs(
    tmp_path: Path, kube_kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with whole(tmp_path / "stack", kube_kind, 1, monkeypatch) as system:
        url, place = system.stack.redis.url, f"/api/v1/namespaces/{NAMESPACE}"
        template = {"spec": {"containers": [{"name": "runner", "image": "runner"}]}}
        spec = {"template": template, "minReplicas": 1, "maxReplicas": 1, "runnerToken": {"secretName": "token"}}
        body = {"apiVersion": "berthmaster.dev/v1alpha1", "kind": "PodPool", "metadata": {"name": "runners"}}
        system.api.create(PATH, body | {"spec": spec})

        def tokens() -> set[str]:
            return set(system.api.get(f"{place}/secrets/token").get("data") or {})

        def pods() -> set[str]:
            return {pod["metadata"]["uid"] for pod in system.api.list(f"{place}/pods")["items"]}

        with RunnerPods(system.api, NAMESPACE, tmp_path, url), Fleet(url) as fleet:
            assert fleet.run(request("first"), timedelta(seconds=60)).outcome == "succeeded"
            before, old = tokens(), pods()
            fleet.submit(request("long", seconds=10))
            eventually(lambda: (job := fleet.job(POOL, "long")) and job.state == "running", 30)
            system.api.patch(f"{PATH}/runners", {"spec": {"runnerToken": {"rotateAfter": "1s"}}})
            seen = tokens(), pods()
            while (job := fleet.job(POOL, "long")) and job.state == "running":
                assert seen == (before, old)
                seen = tokens(), pods()
            eventually(lambda: tokens() != before, 60)
            system.api.patch(f"{PATH}/runners", {"spec": {"runnerToken": {"rotateAfter": "24h"}}})
            eventually(lambda: not pods() & old and not tokens() & before, 90)
            assert fleet.run(request("last"), timedelta(seconds=60)).outcome == "succeeded"
        system.stack.check()
