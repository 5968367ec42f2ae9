"""`ports.reconcile` of settled pods against an empty Celery task: one real worker, the same messages, a full queue.

The worker is paused while the queue is filled, so that it never waits for us; counted is from the moment when a tenth
is gone to the moment when the queue is empty. The CPU time that the worker took a message is told as well: unlike the
rate, it hardly depends on who else uses the machine.
"""

from __future__ import annotations

import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psutil
from redis import Redis

from berthmaster import routing
from berthmaster.redis.incarnation import connect
from compose.sandbox.redis_server import RedisServer
from events.workqueue import Workqueue
from tests.bench.empty import empty_message
from tests.bench.measuring import Figure, Report, Tell, in_turns, ratio
from tests.bench.settled import settled_pods
from tests.support.servers.celery_worker import CeleryProcess
from tests.support.waiting import eventually

NAME: Final = "reconcile"
WARM: Final = 0.1
"""Share of the queue that is not counted."""
BUDGET: Final = 0.6


def run(quick: bool, tell: Tell) -> Report:
    count, rounds = (600, 3) if quick else (2000, 5)
    with tempfile.TemporaryDirectory() as folder, worker(Path(folder)) as (redis, process):
        keys = settled_pods(redis, count)
        tell(f"{count} settled pods, {rounds} rounds")
        race = Race(redis, process, keys)
        rates = in_turns(rounds, {"empty": race.empty, "reconcile": race.reconcile})
        problems = troubles(process)
    assert not problems, f"runs that did more than nothing: {problems[:3]}"
    return Report(NAME, figures(rates, race.cpu), {"pods": count, "rates": rates, "cpu_seconds_each": race.cpu})


def figures(rates: dict[str, list[float]], cpu: dict[str, list[float]]) -> tuple[Figure, ...]:
    each = {side: f"{statistics.median(values) * 1000:.2f} ms CPU each" for side, values in cpu.items()}
    return (
        Figure("ports.reconcile / empty task", ratio(rates["reconcile"], rates["empty"]), "x", at_least=BUDGET),
        Figure("the same by CPU time of the worker", ratio(cpu["empty"], cpu["reconcile"]), "x"),
        Figure("settled runs", statistics.median(rates["reconcile"]), "/s", note=each["reconcile"]),
        Figure("empty tasks", statistics.median(rates["empty"]), "/s", note=each["empty"]),
    )


@contextmanager
def worker(folder: Path) -> Iterator[tuple[Redis, CeleryProcess]]:
    """A Redis and a worker that reads only hints; Kubernetes and AWS are addresses where nobody is."""
    server = RedisServer(folder / "redis").start()
    redis = connect(server.url)
    process = CeleryProcess(
        "worker",
        "bench",
        folder,
        server.url,
        {"BERTHMASTER_KUBERNETES__SERVER": "http://127.0.0.1:9", "BERTHMASTER_AWS__ENDPOINT_URL": "http://127.0.0.1:9"},
        ("-Q", routing.LATENCY),
        application="tests.bench.empty_task",
    )
    try:
        yield redis, process.start().ready()
    finally:
        process.kill()
        redis.close()
        server.kill()


class Race:
    """Each method fills the queue and returns the messages a second at which it emptied."""

    def __init__(self, redis: Redis, process: CeleryProcess, keys: list[str]) -> None:
        self.redis, self.process, self.keys = redis, process, keys
        self.queue = Workqueue(redis, hint_queue=routing.LATENCY)
        self.cpu: dict[str, list[float]] = {"empty": [], "reconcile": []}
        """Seconds a message, one value a round."""

    def empty(self) -> float:
        messages = [empty_message(key) for key in self.keys]
        return self.drained("empty", lambda: self.redis.lpush(routing.LATENCY, *messages))

    def reconcile(self) -> float:
        return self.drained("reconcile", lambda: self.queue.touch(self.keys))

    def drained(self, side: str, fill: Callable[[], Any]) -> float:
        self.process.signal(signal.SIGSTOP)
        fill()
        used = self.cpu_time()
        self.process.signal(signal.SIGCONT)
        first, started = self.below(round(len(self.keys) * (1 - WARM)))
        _, ended = self.below(0)
        eventually(self.idle, timeout=30)
        self.cpu[side].append((self.cpu_time() - used) / len(self.keys))
        return first / (ended - started)

    def cpu_time(self) -> float:
        """Seconds that the worker has used so far."""
        assert self.process.process
        times = psutil.Process(self.process.process.pid).cpu_times()
        return times.user + times.system

    def below(self, most: int) -> tuple[int, float]:
        """How many messages or ready keys were left, and when, at the first look that found at most `most`."""
        deadline = time.monotonic() + 120
        while (left := self.left()) > most:
            assert time.monotonic() < deadline, f"{left} messages are left: {self.process.tail()}"
            time.sleep(0.005)
        return left, time.perf_counter()

    def left(self) -> int:
        number: Any = self.redis.llen(routing.LATENCY)
        return int(max(number, self.queue.depth()["ready"]))

    def idle(self) -> bool:
        """Everything is acknowledged and clean."""
        return not self.redis.hlen("unacked") and not self.queue.depth()["dirty"]


def troubles(process: CeleryProcess) -> list[dict[str, Any]]:
    """What the worker said about runs that did not settle at once; of the others it says nothing."""
    return [line for line in process.log_lines() if line["event"] == "key_reconciled"]
