"""A key whose payload is refused is taken and done: it is in nobody's way, and it is refused once."""

from __future__ import annotations

from typing import Any

import pytest

from berthmaster import routing
from events.workqueue import Workqueue
from tests.integration.worker.fleet import Fleet
from tests.support.waiting import eventually

ODD = ("pod/games/Not_A_Name", "pod/games/", "pod/games/a/b/c", "pod/games", "pod/games/é", "pod/games/a\n", "pod/../x")
MANY = 100


def refusals(fleet: Fleet, keys: list[str]) -> list[Any]:
    lines = [line for worker in fleet.workers for line in worker.log_lines() if line["event"] == "payload_refused"]
    return [line for line in lines if line.get("key") in {repr(key) for key in keys}]


@pytest.mark.row("HO-02")
def test_keys_that_nobody_reconciles_leave_the_queue_and_delay_nobody(fleet: Fleet, pod: str) -> None:
    """As an earlier version made them of whatever a label said."""
    keys = [*ODD, *(f"pod/games/P-{n}" for n in range(MANY))]
    for key in keys:
        fleet.mark(key)
    fleet.mark(pod)
    eventually(lambda: fleet.diary(pod, "ended"), timeout=30)
    eventually(lambda: fleet.settled() and fleet.all_acknowledged(), timeout=40)
    depth = fleet.queue.depth()
    assert (depth["dirty"], depth["ready"], depth["held"]) == (0, 0, 0)
    assert len(refusals(fleet, keys)) == len(keys)


@pytest.mark.row("HO-02")
def test_a_key_of_another_task_stays_for_the_task_that_takes_it(fleet: Fleet) -> None:
    """Whoever sends it to the wrong task takes nothing away."""
    key = "portpool/arena"
    Workqueue(fleet.redis, publish=lambda _: None, ahead=0).touch([key])
    fleet.redis.lpush(routing.LATENCY, routing.message(routing.PORTS_RECONCILE, key))
    eventually(lambda: refusals(fleet, [key]))
    assert fleet.queue.key_state(key).dirty
    fleet.redis.hdel("{queue}dirty", key)


@pytest.mark.row("HO-02")
def test_what_is_no_key_is_not_touched(fleet: Fleet) -> None:
    fleet.queue.touch([*ODD, "podpool/games/Not_A_Name", "event/games/a", "x", ""])
    assert fleet.queue.depth()["dirty"] == 0
