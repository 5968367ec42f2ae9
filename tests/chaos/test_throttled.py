"""AWS permits little, much is asked for at once, and the workers die in the middle: everybody gets a turn, in order,
and nothing is asked for twice.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from domain.ports.pod import PortsState
from tests.support.servers.whole import PATIENCE, Whole, running
from tests.support.waiting import eventually

FIRST, SECOND = 80, 20
"""Pods that ask at once, and those that come when half of them are served."""
RATE = {"per_second": 12, "burst": 12}
PERMITTED = {kind: {"per_second": 14, "burst": 20} for kind in ("register", "modify", "write", "describe")}
SETTINGS = {
    "BERTHMASTER_AWS__RATES": json.dumps(dict.fromkeys(("registration", "modify", "write", "describe"), RATE)),
    "BERTHMASTER_PORTS__AUDIT_EVERY": "10m",
}


def restart_workers(system: Whole) -> None:
    for worker in system.stack.workers:
        worker.kill()
        worker.launch()


@pytest.mark.row("CL-03", "CL-04", "CL-12", "CL-15", "EV-14")
@pytest.mark.timeout(240)
def test_many_pods_against_a_small_allowance_are_served_in_order_and_nothing_is_asked_for_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path, "sandbox", monkeypatch, SETTINGS) as system:
        system.workload.prepare(FIRST + SECOND, system.stack.remote_aws.network())
        eventually(lambda: system.stack.working() and system.world.picture().pool.state == "Active", PATIENCE)
        system.aws.change(throttle=True, buckets=PERMITTED)
        first = set(system.add_pods(FIRST))
        system.await_bound(FIRST // 2)
        second = set(system.add_pods(SECOND))
        check_order(system, first, second)
        restart_workers(system)  # afterwards: what the dead have in hand waits for its lease, and comes out of order
        system.await_converged()
        assert [f for f in system.aws.refusals() if "Throttling" in f] == []
        told = {notice.reason for notice in system.world.picture().notices}
        assert f"Ports{PortsState.FAILED}" not in told
        check_calls(system)
        system.aws.change(throttle=False)  # the check asks for more than AWS permits the workers
        system.check()


def check_order(system: Whole, first: set[str], second: set[str]) -> None:
    """Who came later does not overtake: when half of them are served, most of those that waited before them are, too.

    Last come, first served would leave those where they were.
    """

    def served(names: set[str]) -> int:
        return len(names & {pod.name for pod in system.world.picture().bound})

    waited = FIRST - served(first)
    eventually(lambda: served(second) >= SECOND // 2, timeout=90, every=0.05)
    assert FIRST - served(first) < waited / 2


def check_calls(system: Whole) -> None:
    """A restart of settled workers looks at nothing again; what there is was made once."""
    before = system.aws.counts()
    said_again = sum(n for call, n in system.aws.refusals().items() if call.startswith("CreateListener "))
    assert before["CreateListener"] - said_again - before.get("DeleteListener", 0) == FIRST + SECOND
    restart_workers(system)
    time.sleep(8)
    system.stack.check()
    assert system.aws.counts() == before
