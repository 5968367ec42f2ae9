"""Watch lines to Redis: snapshot, dirty mark, hint and stream entry, events a second of one core.

`python -m tests.bench.publisher [--events N]` prints JSON. Counted is the CPU time of the publisher ("one core");
the wall clock is told as well. For scale, the same lines are only read and parsed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import orjson

from compose.sandbox.redis_server import RedisServer
from events import routing
from events.feeds import SnapshotFeed
from events.incarnation import connect
from events.kube_api import KubeApi
from events.lease import Lease
from events.metrics import Metrics
from events.resources import pods
from events.sender import Sender
from events.settings import KubernetesSettings, LeaseSettings, PublisherSettings, WatchSettings
from events.watch import Batch, Watch
from events.workqueue import Workqueue

EPOCH = "1:bench"


@contextmanager
def source(events: int, keys: int) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.bench.watch_source", "--events", str(events), "--keys", str(keys)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


class Held(Lease):
    """Nobody contests it."""

    @property
    def held(self) -> bool:
        return True


def feed(kube: KubeApi, redis_url: str) -> SnapshotFeed:
    redis = connect(redis_url)
    redis.flushall()
    queue = Workqueue(redis, hint_queue=routing.LATENCY)
    queue.claim(EPOCH)
    queue.stamp(EPOCH)
    lease = Held(kube, LeaseSettings(), "bench")
    return SnapshotFeed(pods(), queue, Sender(queue, lease, EPOCH, Event(), PublisherSettings(), Metrics()), Metrics())


def follow(url: str, events: int, redis_url: str | None) -> dict[str, float]:
    """Reads until all events came; with Redis they are published, without they are only read and parsed."""
    kube = KubeApi.connect(KubernetesSettings(server=url))
    into = feed(kube, redis_url) if redis_url else None
    stop, seen = Event(), 0
    changes = Watch(kube, pods(), WatchSettings(), stop).follow()
    next(changes)
    wall, cpu = time.perf_counter(), time.process_time()
    for change in changes:
        assert isinstance(change, Batch)
        seen += len(change.events)
        if into and change.events:
            into.batch(change)
        if seen >= events:
            break
    stop.set()
    return {
        "events_per_cpu_second": round(events / (time.process_time() - cpu)),
        "events_per_second": round(events / (time.perf_counter() - wall)),
    }


def measure(events: int, redis_url: str) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for name, keys, target in (
        ("read_and_parse", events, None),
        ("coalescing_20_keys", 20, redis_url),
        ("distinct_keys", events, redis_url),
    ):
        with source(events, keys) as url:
            results[name] = follow(url, events, target)
    return results


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=20_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = RedisServer(Path(folder)).start()
        try:
            results = measure(asked.events, server.url)
        finally:
            server.kill()
    sys.stdout.buffer.write(orjson.dumps(results, option=orjson.OPT_INDENT_2) + b"\n")


if __name__ == "__main__":
    main()
