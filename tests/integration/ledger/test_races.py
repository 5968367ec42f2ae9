"""Many workers at once, and workers that die: a port has one owner or none, and the books add up."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.integration.ledger.conftest import MakePool
from tests.support.ports.builders import load_balancers
from tests.support.ports.live_pool import LivePool
from workers.stores.ports.ledger import Granted

Racer = subprocess.Popen[str]
StartRacer = Callable[..., Racer]


@pytest.fixture
def racer(redis_url: str) -> Iterator[StartRacer]:
    """Starts one worker process and waits until it is ready; all are killed when the test ends."""
    started: list[Racer] = []

    def start(mode: str, name: str, seed: int = 0) -> Racer:
        command = [sys.executable, "-m", "tests.support.ports.ledger_racer", mode, redis_url, "arena", name, str(seed)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def line(process: Racer) -> Any:
    assert process.stdout
    return json.loads(process.stdout.readline())


@pytest.mark.row("AL-01")
def test_fifty_threads_in_five_processes_share_all_ports_of_a_pool(make_pool: MakePool, racer: StartRacer) -> None:
    pool = make_pool(lbs=load_balancers(10))
    processes = [racer("race", f"w{n}", n) for n in range(5)]
    assert [line(process) for process in processes] == ["ready"] * 5
    pool.redis.lpush("start", *range(5))
    granted = [tuple(row) for process in processes for row in line(process)]
    assert len({(lb, port) for _, lb, port in granted}) == len(granted) == 500
    assert sorted(granted) == sorted((name, e.lb, e.port) for name, held in pool.held().items() for e in held)
    assert len({name.partition("/")[0] for name, _, _ in granted}) > 1  # they did race


@pytest.mark.row("AL-01")
def test_two_hundred_allocations_of_threads_at_once_overlap_nowhere(make_pool: MakePool) -> None:
    pool = make_pool(lbs=load_balancers(10))
    with ThreadPoolExecutor(20) as workers:
        answers = list(workers.map(lambda n: pool.try_allocate(f"games/p{n}", n % 7 + 1), range(200)))
    granted = [e.id for answer in answers if isinstance(answer, Granted) for e in answer.entries]
    refused = sum(n % 7 + 1 for n, answer in enumerate(answers) if not isinstance(answer, Granted))
    assert len(set(granted)) == len(granted) == pool.view().allocated
    assert len(granted) + refused == sum(n % 7 + 1 for n in range(200))
    assert pool.view().demand == refused > 0


@pytest.mark.row("AL-01", "AL-02")
def test_the_same_owner_asked_for_by_many_gets_its_ports_once(pool: LivePool) -> None:
    """A message may come twice. Only the newest run writes, and each finds what another has allocated."""

    def allocate(_: int) -> set[int]:
        try:
            return {e.port for e in pool.allocate("games/a", 3)}
        except Exception as error:  # noqa: BLE001 - the losers are told so, by whatever name
            return set() if type(error).__name__ == "StaleToken" else {0}

    with ThreadPoolExecutor(8) as workers:
        answers = [answer for answer in workers.map(allocate, range(100)) if answer]
    assert answers
    assert all(answer == {30000, 30001, 30002} for answer in answers)
    assert pool.view().allocated == 3


@pytest.mark.row("AL-02")
def test_ports_of_a_worker_killed_before_it_records_them_are_its_pods(pool: LivePool, racer: StartRacer) -> None:
    process = racer("hold", "games/a")
    assert line(process) == "ready"
    chosen = [tuple(place) for place in line(process)]
    process.kill()
    process.wait()
    assert pool.ports("games/b") == [("lb-0", 30003)]
    assert pool.ports("games/a", 3) == chosen


@pytest.mark.row("AL-02")
def test_a_worker_killed_anywhere_leaves_each_port_free_or_held(make_pool: MakePool, racer: StartRacer) -> None:
    pool = make_pool(lbs=load_balancers(200))
    processes = [racer("churn", f"w{n}") for n in range(3)]
    for n, process in enumerate(processes):
        for _ in range(10 * n + 5):
            line(process)
        process.kill()
        process.wait()
        assert pool.faults() == []
    assert {len(held) for held in pool.held().values()} <= {1, 2, 3}
    for owner in pool.held():
        pool.release(owner)
    assert pool.view().free == pool.view().capacity
