"""Workers are asked to stop while they bind: they end their calls, and know of everything that they have made."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from berthmaster.redis.incarnation import connect
from compose.sandbox.workload import POOL
from tests.support.servers.whole import Whole, whole
from tests.support.waiting import eventually
from workers.stores.ports.ledger import Ledger, load_scripts
from workers.stores.ports.view import owners

PODS = 40


def recorded(system: Whole) -> set[str]:
    """Listeners that the ledger knows."""
    with connect(system.stack.redis.url) as redis:
        ledger = Ledger(redis, load_scripts(redis), POOL)
        return {entry.listener for _, entries in owners(ledger) for entry in entries if entry.listener}


def there(system: Whole) -> set[str]:
    driver = system.aws.driver()
    return {x.arn for lb in driver.find_owned_load_balancers(system.cluster) for x in driver.listeners(lb.arn)}


@pytest.mark.row("CL-17", "EV-14")
def test_workers_that_are_asked_to_stop_leave_no_listener_that_nobody_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with whole(tmp_path, "sandbox", PODS, monkeypatch) as system:
        system.aws.fault("CreateListener", delay=0.3, times=None)
        system.add_pods(PODS)
        eventually(lambda: len(there(system)) >= 3, timeout=60)
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(lambda worker: worker.stop(30), system.stack.workers))
        assert [worker.process.returncode for worker in system.stack.workers if worker.process] == [0, 0]
        assert recorded(system) == there(system)
        assert len(there(system)) < PODS
        system.aws.heal()
        for worker in system.stack.workers:
            worker.launch()
        system.await_converged()
        system.check()
