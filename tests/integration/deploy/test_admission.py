"""What the accounts of deploy/ may write, tried by whoever has stolen the workers' token, on the real API server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from secrets import token_hex
from typing import Any, Final

import pytest

from compose.sandbox.accounts import token
from compose.sandbox.kube.real import RealKube
from domain.kubernetes.names import DO_NOT_DISRUPT, PORTS_BOUND, SAFE_TO_EVICT
from events.kube.api import Denied, Invalid, KubeApi
from tests.integration.deploy.conftest import Kubectl
from tests.support.deployed import DEPLOY
from tests.support.waiting import eventually

Json = dict[str, Any]
PODS: Final = "/api/v1/namespaces/games/pods"
SECRETS: Final = "/api/v1/namespaces/games/secrets"
BUDGETS: Final = "/apis/policy/v1/namespaces/games/poddisruptionbudgets"
POOLS: Final = "/apis/berthmaster.dev/v1alpha1/namespaces/games/podpools"
POOL: Final[Json] = {"apiVersion": "berthmaster.dev/v1alpha1", "kind": "PodPool", "name": "warm", "uid": "1"}
REFUSAL: Final = "ValidatingAdmissionPolicy"


def pod(name: str, owners: list[Json]) -> Json:
    meta = {"name": name, "labels": {"app": "a"}, "annotations": {"team": "red"}, "ownerReferences": owners}
    spec = {"containers": [{"name": "a", "image": "a"}], "readinessGates": [{"conditionType": PORTS_BOUND}]}
    return {"metadata": meta, "spec": spec}


def budget(name: str, owners: list[Json]) -> Json:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}
    return {"metadata": {"name": name, "ownerReferences": owners}, "spec": spec}


@pytest.fixture(scope="module")
def worker(cluster: RealKube, admin: KubeApi, kubectl_admin: Kubectl) -> Iterator[KubeApi]:
    kubectl_admin("apply", "-k", str(DEPLOY / "overlays" / "sandbox"))
    with closing(cluster.api(token=token(admin, "worker"))) as api:
        kind = {key: POOL[key] for key in ("apiVersion", "kind")}
        spec = {"template": {"spec": {"containers": [{"name": "a", "image": "a"}]}}}
        body = {**kind, "metadata": {"name": "warm"}, "spec": spec}
        POOL["uid"] = admin.create(POOLS, body)["metadata"]["uid"]  # else it is garbage, and collected
        admin.create(PODS, pod("theirs", []))
        admin.create(PODS, pod("pooled", [POOL]))
        admin.create(SECRETS, {"metadata": {"name": "theirs"}, "stringData": {"a": "b"}})
        admin.create(BUDGETS, budget("theirs", []))
        for name in ("theirs", "pooled"):
            condition = {"type": "Ready", "status": "False"}
            admin.patch(f"{PODS}/{name}/status", {"status": {"phase": "Running", "conditions": [condition]}})
        eventually(lambda: refused(api, "PATCH", f"{PODS}/theirs", meta(labels={"try": token_hex(4)})))
        yield api


def refused(api: KubeApi, method: str, path: str, body: Json) -> bool:
    """By the policy, and by nothing before it. It takes the server a moment to know one."""
    calls = {"PATCH": api.patch, "JOIN": api.join, "POST": api.create, "DELETE": api.delete}
    try:
        calls[method](path, body)
    except (Denied, Invalid) as error:
        return REFUSAL in str(error)
    return False


def meta(**fields: Any) -> Json:
    return {"metadata": fields}


IMAGE: Final = {"spec": {"containers": [{"name": "a", "image": "mine"}]}}
READY: Final = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
STOLEN: Final = [{**POOL, "uid": "2"}]
ATTACKS: Final[list[tuple[str, str, Json]]] = [
    ("PATCH", f"{PODS}/theirs", {"spec": {"activeDeadlineSeconds": 1}}),
    ("PATCH", f"{PODS}/theirs", meta(labels={"app": "b"})),
    ("PATCH", f"{PODS}/theirs", meta(labels={"app": None})),
    ("PATCH", f"{PODS}/theirs", meta(labels={"berthmaster.dev/pool": "warm"})),
    ("PATCH", f"{PODS}/theirs", meta(ownerReferences=STOLEN)),
    ("PATCH", f"{PODS}/pooled", meta(ownerReferences=None)),
    ("PATCH", f"{PODS}/pooled", meta(ownerReferences=STOLEN)),
    *(("JOIN", f"{PODS}/{name}", IMAGE) for name in ("theirs", "pooled")),
    ("PATCH", f"{PODS}/theirs", meta(annotations={"team": "mine"})),
    ("PATCH", f"{PODS}/theirs", meta(annotations={"team": None})),
    ("PATCH", f"{PODS}/theirs", meta(annotations={"berthmaster.dev.evil/a": "b"})),
    *(("PATCH", f"{PODS}/{name}", meta(finalizers=["example.com/mine"])) for name in ("theirs", "pooled")),
    *(("JOIN", f"{PODS}/{name}/status", READY) for name in ("theirs", "pooled")),
    *(("PATCH", f"{PODS}/{name}/status", {"status": {"phase": "Failed"}}) for name in ("theirs", "pooled")),
    *(("PATCH", f"{PODS}/{name}/status", {"status": {"podIP": "10.0.0.9"}}) for name in ("theirs", "pooled")),
    *(("PATCH", f"{PODS}/{name}/status", {"status": {"conditions": []}}) for name in ("theirs", "pooled")),
    ("PATCH", f"{PODS}/theirs/status", meta(annotations={"team": "mine"})),
    ("POST", PODS, pod("mine", [])),
    ("POST", PODS, pod("mine", [{**POOL, "kind": "ReplicaSet", "apiVersion": "apps/v1"}])),
    ("DELETE", f"{PODS}/theirs", {}),
    ("POST", SECRETS, {"metadata": {"name": "mine"}}),
    ("PATCH", f"{SECRETS}/theirs", {"stringData": {"a": "mine"}}),
    ("PATCH", f"{SECRETS}/theirs", meta(ownerReferences=STOLEN)),
    ("PATCH", f"{PODS}/theirs", meta(annotations={SAFE_TO_EVICT: "true"})),
    ("POST", BUDGETS, budget("mine", [])),
    ("DELETE", f"{BUDGETS}/theirs", {}),
]


@pytest.mark.row("HO-09")
def test_the_workers_account_writes_nothing_of_others(worker: KubeApi, admin: KubeApi) -> None:
    before = [admin.get(f"{PODS}/{name}") for name in ("theirs", "pooled")]
    assert [attack for attack in ATTACKS if not refused(worker, *attack)] == []
    assert [admin.get(f"{PODS}/{name}") for name in ("theirs", "pooled")] == before


@pytest.mark.row("HO-09")
def test_the_workers_account_writes_what_is_its_own(worker: KubeApi, admin: KubeApi) -> None:
    bound = {"status": {"conditions": [{"type": PORTS_BOUND, "status": "True"}]}}
    for name in ("theirs", "pooled"):
        worker.patch(f"{PODS}/{name}", meta(annotations={"berthmaster.dev/ports-state": "Pending"}))
        worker.join(f"{PODS}/{name}/status", meta(annotations={"berthmaster.dev/ports-state": "Bound"}) | bound)
        worker.patch(f"{PODS}/{name}", meta(annotations={"berthmaster.dev/ports-state": None}))
    of_its_claim = {"labels": {"berthmaster.dev/phase": "Bound", "app": "of-its-claim"}, "annotations": {"team": "red"}}
    worker.patch(f"{PODS}/pooled", meta(**of_its_claim))
    worker.patch(f"{PODS}/pooled", meta(annotations={"team": None}))
    worker.create(PODS, pod("another", [POOL]))
    worker.delete(f"{PODS}/another", {"gracePeriodSeconds": 0})
    for honoured in ({SAFE_TO_EVICT: "false", DO_NOT_DISRUPT: "true"}, dict.fromkeys((SAFE_TO_EVICT, DO_NOT_DISRUPT))):
        worker.patch(f"{PODS}/pooled", meta(annotations=honoured))
    worker.create(BUDGETS, budget("pooled", [POOL]))
    worker.delete(f"{BUDGETS}/pooled")
    owned = {"name": "token", "ownerReferences": [POOL]}
    worker.create(SECRETS, {"metadata": owned})
    worker.patch(f"{SECRETS}/token", {"stringData": {"a": "b"}})


@pytest.mark.row("HO-09")
def test_others_are_not_limited_by_it(worker: KubeApi, admin: KubeApi) -> None:
    admin.join(f"{PODS}/theirs", {"spec": {"containers": [{"name": "a", "image": "theirs"}]}})
    admin.patch(f"{PODS}/theirs", meta(labels={"app": "c"}, annotations={"team": "blue"}))
