"""A Redis, workers and a beat of a test's own, with a publisher's side to mark keys and the diary of what ran."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import urlopen

import orjson
from redis.exceptions import RedisError

from berthmaster import routing
from berthmaster.redis.incarnation import connect
from compose.sandbox.free_ports import free_port
from compose.sandbox.redis_server import RedisServer
from events.workqueue import Mark, Workqueue
from tests.support.ready_keys import SENT
from tests.support.servers.celery_worker import CeleryProcess
from tests.support.servers.probe_tasks import DIARY
from tests.support.waiting import eventually

IMPATIENT = {  # leases, time-outs and waits short enough for a test
    "BERTHMASTER_CELERY__CONCURRENCY": "8",
    "BERTHMASTER_CELERY__VISIBILITY_TIMEOUT": "2",
    "BERTHMASTER_CELERY__RESTORE_EVERY": "1",
    "BERTHMASTER_CELERY__HEALTH_CHECK_EVERY": "2",
    "BERTHMASTER_KUBERNETES__REQUEST_TIMEOUT": "0.5",
    "BERTHMASTER_AWS__CONNECT_TIMEOUT": "0.5",
    "BERTHMASTER_AWS__READ_TIMEOUT": "0.5",
    "BERTHMASTER_QUEUE__LEASE": "3",
    "BERTHMASTER_QUEUE__HINT_LOST_AFTER": "3",
    "BERTHMASTER_QUEUE__RETRY__FIRST": "400ms",
    "BERTHMASTER_QUEUE__RETRY__LONGEST": "2",
    "BERTHMASTER_METRICS__ADDRESS": "127.0.0.1",
}


class Entry(NamedTuple):
    """One line of the diary."""

    event: str
    key: str
    version: int
    tries: int
    token: str
    at: float
    process: int


class Fleet:
    def __init__(self, directory: Path, server: RedisServer, url: str | None = None) -> None:
        self.directory, self.server, self.url = directory, server, url or server.url
        self.redis = connect(server.url)
        self.queue = Workqueue(self.redis, hint_queue=routing.LATENCY)
        self.workers: list[CeleryProcess] = []
        self.beats: list[CeleryProcess] = []
        self.epochs = 0

    def start(self, workers: int = 1, beats: int = 1, **environment: str) -> Fleet:
        self.publish_anew()
        self.beats += [self.process("beat", f"beat-{number}", environment) for number in range(beats)]
        for _ in range(workers):
            self.add_worker(**environment)
        for process in [*self.beats, *self.workers]:
            process.ready()
        return self

    def add_worker(self, **environment: str) -> CeleryProcess:
        name = f"worker-{len(self.workers)}"
        self.workers.append(
            self.process("worker", name, {"BERTHMASTER_METRICS__PORT": str(free_port()), **environment})
        )
        return self.workers[-1]

    def process(self, kind: str, name: str, environment: dict[str, str]) -> CeleryProcess:
        return CeleryProcess(kind, name, self.directory, self.url, {**IMPATIENT, **environment}).start()

    def report(self) -> str:
        """For the output of a failed test."""
        keys: Any = self.redis.keys("*")
        lines = [f"depth {self.queue.depth()}", f"hints {self.redis.zcard(SENT)}", f"keys {sorted(keys)}"]
        return "\n".join([*lines, *(f"--- {one.name}\n{one.tail()}" for one in [*self.workers, *self.beats])])

    def end(self) -> None:
        """As `stop`, with a report in the output of the test."""
        with suppress(RedisError):
            sys.stdout.write(self.report())
        self.stop()

    def stop(self) -> None:
        for process in [*self.workers, *self.beats]:
            process.kill()
        self.redis.close()

    # ---- as the publisher

    @property
    def epoch(self) -> str:
        return f"{self.epochs}:publisher"

    def publish_anew(self, marks: Iterable[Mark] = ()) -> None:
        """What the publisher does at its start and after Redis was lost: claim, list, stamp."""

        def published() -> bool:
            try:
                ready = self.queue.assume_epoch(self.epoch)
                self.queue.marks(self.epoch, list(marks), relist=True)
                return ready and self.queue.stamp(self.epoch)
            except RedisError:
                return False

        self.epochs += 1
        eventually(published, timeout=20)

    def mark(self, key: str, version: int = 1, **body: Any) -> None:
        self.queue.marks(self.epoch, [mark(key, version, **body)])

    # ---- what happened

    def diary(self, key: str, event: str | None = None) -> list[Entry]:
        return [entry for entry in self.whole_diary(event) if entry.key == key]

    def whole_diary(self, event: str | None = None) -> list[Entry]:
        raw: Any = self.redis.lrange(DIARY, 0, -1)
        entries = [Entry(**orjson.loads(line)) for line in raw]
        return [entry for entry in entries if event in (None, entry.event)]

    def settled(self) -> bool:
        return self.queue.depth()["dirty"] == 0

    def all_acknowledged(self) -> bool:
        """No message is left anywhere."""
        return not any(self.redis.llen(queue) for queue in routing.ALL) and not self.redis.hlen("unacked")

    def metric(self, name: str, **labels: str) -> float:
        """Sum over the workers."""
        return sum(value for worker in self.workers for value in samples(worker, name, labels))


def mark(key: str, version: int = 1, **body: Any) -> Mark:
    return Mark(key, version, "uid-1", gone=False, body=orjson.dumps(body))


def samples(worker: CeleryProcess, name: str, labels: dict[str, str]) -> list[float]:
    with urlopen(f"http://127.0.0.1:{worker.environment['BERTHMASTER_METRICS__PORT']}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    wanted = [f'{label}="{value}"' for label, value in labels.items()]
    return [float(line.split()[-1]) for line in lines if line.startswith(name) and all(part in line for part in wanted)]


def during(seconds: float, do: Callable[[], object], every: float = 0.025) -> None:
    """Calls `do` again and again: a load."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        do()
        time.sleep(every)
