"""The system under exactly the accounts and roles of deploy/, on a real API server."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from berthmaster.redis.incarnation import connect
from berthmaster.routing import LATENCY
from compose.sandbox.kube.real import RealKube
from compose.sandbox.workload import NAMESPACE, PODS, POOL, PORTPOOLS, pod, pool
from domain.kubernetes.names import PORTS_BOUND
from events.workqueue import Workqueue
from events.workqueue.entries import padded
from tests.fixtures.kube import Kustomize
from tests.support.deployed import DEPLOY, asked, permitted, refused
from tests.support.jobs.runner_pods import RunnerPods
from tests.support.servers.whole import Whole, running
from tests.support.waiting import eventually

PODPOOLS = f"/apis/berthmaster.dev/v1alpha1/namespaces/{NAMESPACE}/podpools"
CLAIM_SETS, CLAIMS = (PODPOOLS.replace("podpools", kind) for kind in ("podclaimsets", "podclaims"))
OURS = "berthmaster.dev"
CLI = "from workers.cli.main import app; app()"


def ports(system: Whole) -> None:
    """A pool that asks for labels of namespaces, a pod with the readiness gate, and one without."""
    body = pool(2, system.stack.remote_aws.network())
    body["spec"]["allowedNamespaces"] = {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}}
    system.api.create(PORTPOOLS, body)
    gated: dict[str, Any] = pod(1)
    gated["spec"]["readinessGates"] = [{"conditionType": PORTS_BOUND}]
    for each in (gated, pod(2)):
        system.api.create(PODS, each)
    system.await_bound(2)


def jobs(system: Whole) -> None:
    """A pool of one runner whose token is rotated, so that the pod is replaced."""
    template = {"spec": {"containers": [{"name": "runner", "image": "runner"}]}}
    token = {"secretName": "runner-token", "rotateAfter": "8s"}
    spec = {"template": template, "minReplicas": 1, "maxReplicas": 1, "runnerToken": token}
    body = {"apiVersion": f"{OURS}/v1alpha1", "kind": "PodPool", "metadata": {"name": "runners"}}
    system.api.create(PODPOOLS, body | {"spec": spec})


def claims(system: Whole) -> None:
    """A set of two claims on warm pods, and then of one."""
    pools = {
        "template": {"spec": {"containers": [{"name": "room", "image": "room"}]}},
        "minReplicas": 2,
        "maxReplicas": 2,
    }
    pool_body = {"apiVersion": f"{OURS}/v1alpha1", "kind": "PodPool", "metadata": {"name": "warm"}}
    system.api.create(PODPOOLS, pool_body | {"spec": pools})
    labels = {"of": "rooms"}
    template = {"metadata": {"labels": labels}, "spec": {"poolName": "warm"}}
    body = {"apiVersion": f"{OURS}/v1alpha1", "kind": "PodClaimSet", "metadata": {"name": "rooms"}}
    system.api.create(CLAIM_SETS, body | {"spec": {"replicas": 2, "selector": labels, "template": template}})

    def bound(number: int) -> bool:
        found = [each.get("status", {}).get("phase") for each in system.api.list(CLAIMS)["items"]]
        assert found == ["Bound"] * number, system.api.list(CLAIMS)["items"]
        return True

    eventually(lambda: bound(2), 60)
    system.api.patch(f"{CLAIM_SETS}/rooms", {"spec": {"replicas": 1}})
    eventually(lambda: bound(1), 60)


def take_back(system: Whole) -> None:
    """Redis knows a version of a bound pod that the API has not reached: what a publisher finds after etcd was restored
    from a backup. (A restart of the API server refuses everybody until it has read its roles.)
    """
    with closing(connect(system.stack.redis.url)) as redis:
        stored = redis.hget("{queue}snap", f"pod/{NAMESPACE}/game-0002")
        assert isinstance(stored, bytes)
        history, rest = stored[: len("000001.")], stored[len("000001.") + len(padded(0)) :]
        redis.hset("{queue}snap", f"pod/{NAMESPACE}/game-0002", history + padded(10**15).encode() + rest)


def look(system: Whole) -> None:
    """What people do in a worker's pod, and a key that somebody sent of which Redis has no snapshot."""
    explained = ("pod games/game-0001", "pod-pool games/runners --dry-run", "claimset games/rooms")
    for command in ("doctor", "status", "audit", *(f"explain {each}" for each in explained)):
        arguments = [sys.executable, "-c", CLI, *command.split(), "--json"]
        done = subprocess.run(arguments, env=system.stack.workers[0].env, check=False, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    with closing(connect(system.stack.redis.url)) as redis:
        Workqueue(redis, hint_queue=LATENCY).touch(["portpool/nowhere"])


@pytest.mark.row("EV-18")
def test_the_roles_allow_what_the_system_asks_for_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kustomize: Kustomize
) -> None:
    allowed = permitted(kustomize(DEPLOY / "overlays" / "sandbox"))
    with running(tmp_path / "stack", "real", monkeypatch) as system:
        server = system.stack.kube
        assert isinstance(server, RealKube)
        jobs(system)
        ports(system)
        take_back(system)
        with RunnerPods(system.api, NAMESPACE, tmp_path, system.stack.redis.url):
            claims(system)
            system.api.patch(f"{PODPOOLS}/warm", {"spec": {"protectWhileBusy": False}})  # its budget goes
            look(system)

            def all_were_used() -> bool:
                assert allowed - asked(server.audit_log) == set()
                return True

            eventually(all_were_used, 90, every=0.5)
            for path in (f"{CLAIM_SETS}/rooms", f"{PODPOOLS}/warm", f"{PODPOOLS}/runners", PODS, f"{PORTPOOLS}/{POOL}"):
                system.api.delete(path)
            eventually(lambda: not system.api.list(PORTPOOLS)["items"], 60)
        assert refused(server.audit_log) == []
        assert asked(server.audit_log) - allowed == set()
        assert [refusal for refusal in system.aws.refusals() if "AccessDenied" in refusal] == []
        system.stack.check()
