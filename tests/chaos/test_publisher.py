"""Two publishers, a worker, and everything that may go wrong at once: in the end Redis says what the cluster says.

While it goes on, the two invariants of the protocol's model hold: no run acts on an older state than one before it, and
no run is told that a pod is gone which lives.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from redis import Redis, RedisError

from berthmaster.redis.incarnation import connect
from compose.sandbox.redis_server import RedisServer
from events.workqueue import LeasedKey, Snapshot
from tests.support.servers.publishing import LEASES, IdleWorker, publishing
from tests.support.servers.scripted_watch import PODS, ScriptedApi, empty, expired, replaying
from tests.support.storm import Storm
from tests.support.waiting import eventually

SECONDS = 8
WATCH = {"resync_every": timedelta(seconds=1), "inactivity_timeout": timedelta(milliseconds=500)}
NAME = "default/berthmaster-publisher"
LEASE = {"duration": timedelta(seconds=2), "renew_deadline": timedelta(milliseconds=1500)}


class WatchfulWorker:
    """Runs every key again and again, and notes what no run may see."""

    def __init__(self, api: ScriptedApi, worker: IdleWorker) -> None:
        self.api, self.worker, self.over = api, worker, Event()
        self.acted: dict[str, int] = {}
        self.wrong: list[str] = []
        self.runs = 0
        self.thread = Thread(target=self.loop, daemon=True)
        self.thread.start()

    def loop(self) -> None:
        while not self.over.wait(0.005):
            try:
                for key in self.worker.queue.stored_versions():
                    self.run(key)
            except RedisError:
                self.over.wait(0.05)

    def run(self, key: str) -> None:
        """`done` may be refused: Redis may have forgotten that the key was taken."""
        self.runs += 1
        taken = self.worker.queue.take(key, timedelta(seconds=30), f"run-{self.runs}")
        if isinstance(taken, LeasedKey) and taken.snapshot:
            self.look(key, taken.snapshot)
            self.worker.queue.done(taken, None)

    def look(self, key: str, snapshot: Snapshot) -> None:
        version, uid, gone = snapshot.version, snapshot.uid, snapshot.gone
        if version < self.acted.get(key, 0):
            self.wrong.append(f"{key}: acted on version {version} after {self.acted[key]}")
        self.acted[key] = max(version, self.acted.get(key, 0))
        living = self.api.world.objects[PODS].get(key.removeprefix("pod/"))
        if gone and living and living["metadata"]["uid"] == uid:
            self.wrong.append(f"{key}: {uid} lives, and was called gone at version {version}")

    def end(self) -> None:
        self.over.set()
        self.thread.join()


@pytest.fixture
def api() -> Iterator[ScriptedApi]:
    with ScriptedApi() as api:
        yield api


@pytest.mark.row("EV-01", "EV-03", "EV-10", "EV-11", "EV-14")
@pytest.mark.parametrize("seed", [1, 2])
def test_after_any_faults_redis_says_what_the_cluster_says(api: ScriptedApi, tmp_path: Path, seed: int) -> None:
    server = RedisServer(tmp_path / "redis").start()
    chance = random.Random(seed)
    with ExitStack() as stack:
        stack.callback(server.kill)
        client = connect(server.url)
        stack.callback(client.close)
        idle = IdleWorker(client)
        both = [
            stack.enter_context(publishing(api.url, server.url, stamped=False, watch=WATCH, lease=LEASE))
            for _ in range(2)
        ]
        eventually(lambda: any(one.stamped for one in both))
        storm = stack.enter_context(Storm(api, hide=0.05, seed=seed))
        worker = WatchfulWorker(api, idle)
        stack.callback(worker.end)
        ends = time.monotonic() + SECONDS
        while time.monotonic() < ends:
            chance.choice(faults(api, server, client))()
            time.sleep(chance.random())  # the faults' own rhythm
        left = storm.end()
        eventually(lambda: idle.living() == left, timeout=30)
        eventually(lambda: worker.acted.items() >= left.items(), timeout=30)
        assert worker.wrong == []
        assert sum(one.terms for one in both) > 2


def faults(api: ScriptedApi, server: RedisServer, client: Redis) -> list[Callable[[], Any]]:
    def restart_redis() -> None:
        server.kill()
        server.start()

    return [
        api.cut,
        lambda: api.watches[PODS].extend([expired, empty]),
        lambda: api.watches[PODS].append(replaying(0)),
        client.flushall,
        restart_redis,
        lambda: steal(api),
        lambda: api.world.delete(LEASES, NAME) if NAME in api.world.objects[LEASES] else None,
    ]


def steal(api: ScriptedApi) -> None:
    """The Lease goes to nobody: whoever looks next has it."""
    with api.world.changed:
        if lease := api.world.objects[LEASES].get(NAME):
            number = lease["spec"]["leaseTransitions"] + 1
            spec = {**lease["spec"], "holderIdentity": "", "leaseTransitions": number}
            api.world.put(LEASES, {**lease, "spec": spec})
