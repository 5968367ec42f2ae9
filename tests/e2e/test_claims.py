"""Claims on pods with ports, through the whole system: the example of the README, and a matchmaker's one call."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from berthmaster.client import Fleet
from compose.sandbox.kube.apply import apply
from compose.sandbox.workload import NAMESPACE
from domain.claims.pod import Phase
from domain.kubernetes.names import ENDPOINTS, PHASE
from domain.ports.endpoints import parse_endpoints
from tests.support.servers.whole import PATIENCE, whole
from tests.support.waiting import eventually
from tests.unit.test_documents import examples

Json = dict[str, Any]
PATH = f"/apis/berthmaster.dev/v1alpha1/namespaces/{NAMESPACE}/podclaims"


@pytest.mark.row("CL-41")
def test_the_example_of_the_readme_shows_an_endpoint_and_a_matchmaker_gets_another(
    tmp_path: Path, kube_kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with whole(tmp_path / "stack", kube_kind, 4, monkeypatch) as system:
        apply(system.api, [*examples("PodPool"), *examples("PodClaim")])

        def shown() -> list[Json]:
            return (system.api.get(f"{PATH}/match-1").get("status") or {}).get("endpoints") or []

        eventually(lambda: shown() != [], PATIENCE, every=0.2)
        status = system.api.get(f"{PATH}/match-1")["status"]
        assert (status["phase"], len(status["podIPs"])) == ("Bound", 1)
        with Fleet(system.stack.redis.url) as fleet:
            with fleet.claim(f"{NAMESPACE}/warm", timeout=timedelta(seconds=PATIENCE)) as claimed:
                pod = system.api.get(f"/api/v1/namespaces/{NAMESPACE}/pods/{claimed.pod}")
                published = parse_endpoints(pod["metadata"]["annotations"][ENDPOINTS])
                assert [(e.host, e.port) for e in claimed.endpoints] == [(e.host, e.port) for e in published]
                assert claimed.endpoints[0].address != shown()[0]["address"]
                assert pod["metadata"]["labels"][PHASE] == Phase.BOUND
            eventually(lambda: len(system.api.list(PATH)["items"]) == 1, PATIENCE, every=0.2)
        system.stack.check()
