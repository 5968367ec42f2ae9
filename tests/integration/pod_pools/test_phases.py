"""The phases of a pod, as whoever watches Kubernetes sees them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from domain.kubernetes.names import PHASE, SESSIONS
from events.kube.api import KubeApi
from tests.integration.pod_pools.conftest import MakePool
from tests.support.claims.claimant import Claimant
from tests.support.pods.warm import grow

ALLOWED = {
    ("", "Unknown"),
    ("Unknown", "Idle"),
    ("Idle", "Idle"),
    ("Idle", "Bound"),
    ("Bound", "Draining"),
    ("Draining", "Draining"),
    ("Draining", "Idle"),
    ("Draining", "Terminating"),
}


class Watcher(KubeApi):
    """Which phase followed on which, of every pod that was written through it."""

    def __init__(self, api: KubeApi) -> None:
        super().__init__(api.connection, api.timeout, api.agent)
        self.now: dict[str, str] = {}
        self.steps: set[tuple[str, str]] = set()

    def request(self, method: str, path: str, *args: Any, **options: Any) -> dict[str, Any]:
        reply = super().request(method, path, *args, **options)
        if method in ("POST", "PATCH") and reply.get("kind") == "Pod":
            phase = reply["metadata"]["labels"][PHASE]
            self.steps.add((self.now.get(reply["metadata"]["uid"], ""), phase))
            self.now[reply["metadata"]["uid"]] = phase
        return reply


@pytest.mark.row("WC-02")
def test_a_pod_goes_through_its_phases_in_their_order_and_no_other(make_pool: MakePool) -> None:
    pool = make_pool(maxIdle=2, slots=[])
    watcher = Watcher(pool.api)
    pool.api, pool.services = watcher, replace(pool.services, kube=watcher)
    grow(pool)
    claimants = [Claimant(pool, f"claim-{n}") for n in range(2)]
    for claimant in claimants:
        assert claimant.take()
        grow(pool)
        assert claimant.give_back(ago=20)
    grow(pool)
    pool.ready(claimants[1].pod, "False")
    pool.api.patch(pool.pod_path(claimants[0].pod), {"metadata": {"annotations": {SESSIONS: "0 drain-1"}}})
    pool.run()
    grow(pool)
    assert watcher.steps - {(phase, phase) for _, phase in ALLOWED} == {step for step in ALLOWED if step[0] != step[1]}
