"""Processes are killed while pods bind: in the end the world is as if nothing had happened."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.support.faults.redis_restart import restart
from tests.support.servers.whole import whole

PODS = 200
BALANCERS = 4  # of 50 ports each


@pytest.mark.row("EV-14")
def test_killing_all_workers_at_random_leaves_every_pod_bound_and_nothing_of_those_gone(
    kube_kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(7)
    with whole(tmp_path, kube_kind, PODS, monkeypatch) as system:
        names = system.add_pods(PODS)
        for bound in sorted(random.sample(range(PODS // 2), 3)):
            system.await_bound(bound)
            for worker in system.stack.workers:
                worker.kill()
            system.delete_pods([names.pop() for _ in range(5)])
            for worker in system.stack.workers:
                worker.launch()
        system.await_converged()
        assert system.load_balancers() == BALANCERS
        system.check()


@pytest.mark.row("EV-11", "EV-10")
def test_a_redis_that_is_killed_under_load_loses_no_pod_and_grants_no_port_twice(
    kube_kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with whole(tmp_path, kube_kind, PODS, monkeypatch) as system:
        system.add_pods(PODS)
        for bound in (PODS // 5, PODS // 2):
            system.await_bound(bound)
            restart(system.stack.redis)
        system.await_converged()
        assert system.load_balancers() == BALANCERS
        system.check()
