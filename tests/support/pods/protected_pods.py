"""Which pods of a pool are protected, and its disruption budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from domain.kubernetes.names import PROTECTED
from domain.pod_pools.protection import HONOURED
from events.kube.api import NotFound
from tests.support.faults.interposed_kube import RecordedKube
from tests.support.pods.pod_pool_world import PodPoolWorld

Json = dict[str, Any]
HOURS = {"scaling": {"upCooldown": "0s", "downCooldown": "1h"}}
"""Of a spec: pods stay protected for an hour after their work."""


def budgets(pool: PodPoolWorld, name: str = "") -> str:
    path = f"/apis/policy/v1/namespaces/{pool.namespace}/poddisruptionbudgets"
    return f"{path}/{name}" if name else path


def budget(pool: PodPoolWorld) -> Json | None:
    try:
        return pool.api.get(budgets(pool, "runners-protected"))
    except NotFound:
        return None


def protected(pool: PodPoolWorld) -> set[str]:
    """Names of the pods that the budget selects; each has the annotations, and no other pod has one."""
    names = set[str]()
    for pod in pool.pods():
        meta = pod["metadata"]
        notes = {key: value for key, value in (meta.get("annotations") or {}).items() if key in HONOURED}
        assert notes == (HONOURED if meta["labels"].get(PROTECTED) else {})
        names |= {meta["name"]} if meta["labels"].get(PROTECTED) == "true" else set()
    return names


def busy(pool: PodPoolWorld) -> set[str]:
    return {pod.name for pod in pool.ledger_pods() if pod.busy}


def writes_of(pool: PodPoolWorld, runs: int = 1) -> list[str]:
    """Requests to pods and budgets of that many runs."""
    whole, kube = pool.services, RecordedKube(pool.api)
    pool.services = replace(whole, kube=kube)
    for _ in range(runs):
        pool.run()
    pool.services = whole
    written = [request for request in kube.sent if not request.startswith("GET")]
    return [request for request in written if "/pods" in request or "/poddisruptionbudgets" in request]
