"""One reader of a watch stream in a process of its own, which says how fast it was and how much memory it took.

`python -m tests.bench.follow SIDE --url URL --redis URL --events N` prints JSON. The sides: `read` takes the lines and
parses them, `publish` is the publisher's whole path from the stream to Redis, `list` that of its first list, `set`
writes as many snapshots by plain SETs in pipelines.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import orjson
import urllib3

from berthmaster import routing
from berthmaster.redis.incarnation import connect
from events.kube.api import KubeApi
from events.protocol.event_stream import EventStream
from events.publisher.feeds import SnapshotFeed
from events.publisher.lease import Lease
from events.publisher.metrics import Metrics
from events.publisher.process import Process
from events.publisher.resources import pods
from events.publisher.sender import CHUNK, MarkSender
from events.publisher.watch import Batch, Listing, ResourceWatch
from events.settings import KubernetesSettings, LeaseSettings, PublisherSettings, StreamSettings, WatchSettings
from events.workqueue import Workqueue
from tests.bench.watch_source import FIRST, big_pod

EPOCH = "1:bench"
Work = Callable[[], None]
PROCESS = Process  # what the publisher loads, this has loaded too


class Held(Lease):
    """Nobody contests it."""

    @property
    def held(self) -> bool:
        return True


def feed(kube: KubeApi, redis_url: str) -> SnapshotFeed:
    """Of an empty Redis, claimed."""
    redis = connect(redis_url)
    redis.flushall()
    queue = Workqueue(redis, hint_queue=routing.LATENCY)
    queue.assume_epoch(EPOCH)
    queue.stamp(EPOCH)
    lease, metrics = Held(kube, LeaseSettings(), "bench"), Metrics()
    return SnapshotFeed(
        pods(),
        queue,
        MarkSender(queue, lease, EPOCH, Event(), PublisherSettings(), metrics, EventStream(StreamSettings())),
        metrics,
    )


def watch(url: str) -> tuple[KubeApi, ResourceWatch]:
    kube = KubeApi.connect(KubernetesSettings(server=url))
    return kube, ResourceWatch(kube, pods(), WatchSettings(), Event())


def read(asked: argparse.Namespace) -> Work:
    def work() -> None:
        path = f"{asked.url}/api/v1/pods?watch=1&resourceVersion={FIRST}"
        answer = urllib3.PoolManager().request("GET", path, preload_content=False)
        for number, line in enumerate(lines(answer), 1):
            assert orjson.loads(line)["object"]["metadata"]["resourceVersion"]
            if number == asked.events:
                return

    return work


def lines(answer: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    """As few steps as Python can do it in."""
    rest = b""
    for data in answer.stream(2**16):
        *whole, rest = (rest + data).split(b"\n")
        yield from whole


def publish(asked: argparse.Namespace) -> Work:
    kube, stream = watch(asked.url)
    into, changes = feed(kube, asked.redis), stream.follow()
    assert isinstance(next(changes), Listing)

    def work() -> None:
        seen = 0
        for change in changes:
            assert isinstance(change, Batch)
            seen += len(change.events)
            if change.events:
                into.batch(change)
            if seen >= asked.events:
                return

    return work


def first_list(asked: argparse.Namespace) -> Work:
    kube, stream = watch(asked.url)
    into, changes = feed(kube, asked.redis), stream.follow()

    def work() -> None:
        listing = next(changes)
        assert isinstance(listing, Listing)
        into.listing(listing, relist=True)

    return work


def plain_set(asked: argparse.Namespace) -> Work:
    redis = connect(asked.redis)
    redis.flushall()
    marks = [pods().item(big_pod(number, FIRST)).mark for number in range(asked.events)]

    def work() -> None:
        for start in range(0, len(marks), CHUNK):
            pipeline = redis.pipeline(transaction=False)
            for mark in marks[start : start + CHUNK]:
                pipeline.set(mark.key, mark.body)
            pipeline.execute()

    return work


SIDES: dict[str, Callable[[argparse.Namespace], Work]] = {
    "read": read,
    "publish": publish,
    "list": first_list,
    "set": plain_set,
}


def measured(work: Work, count: int) -> dict[str, Any]:
    """`rss`: the most memory that the process ever had, in MB."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"per_second": count / wall, "per_cpu_second": count / cpu, "rss": peak}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("side", choices=SIDES)
    parser.add_argument("--url", default="")
    parser.add_argument("--redis", default="")
    parser.add_argument("--events", type=int, required=True)
    asked = parser.parse_args()
    sys.stdout.buffer.write(orjson.dumps(measured(SIDES[asked.side](asked), asked.events)))


if __name__ == "__main__":
    main()
