"""A publisher in this process, with times short enough for tests, and a worker that does nothing but take and end."""

from __future__ import annotations

import os
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

import orjson
from pydantic import BaseModel, SecretStr
from redis import Redis

from berthmaster import routing
from berthmaster.redis.settings import StateSettings
from events.publisher.process import Process
from events.settings import (
    KubernetesSettings,
    LeaseSettings,
    ProcessSettings,
    PublisherSettings,
    StreamSettings,
    WatchSettings,
)
from events.workqueue import LeasedKey, Refusal, Snapshot, Workqueue
from tests.support.ready_keys import ready_keys
from tests.support.servers import forked
from tests.support.waiting import eventually

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
FAST_WATCH: dict[str, Any] = {
    "inactivity_timeout": timedelta(seconds=30),  # else a list would repair what a test wants to see noticed
    "steady_after": timedelta(milliseconds=200),
    "backoff_first": timedelta(milliseconds=20),
    "backoff_longest": timedelta(milliseconds=200),
    "absent_retry": timedelta(milliseconds=50),
}
FAST_LEASE: dict[str, Any] = {
    "duration": timedelta(seconds=2),
    "renew_deadline": timedelta(milliseconds=1500),
    "retry_every": timedelta(milliseconds=100),
}


def settings(
    server: str | KubernetesSettings,
    redis: str,
    watch: Any = (),
    lease: Any = (),
    wait: timedelta | None = timedelta(0),
    cluster: str = "test",
    stream: Any = (),
    **publisher: Any,
) -> ProcessSettings:
    """`watch`, `lease` and `stream` are dicts that override what is usual, `wait` is the time after a failover."""
    return ProcessSettings(
        cluster=cluster,
        redis=StateSettings(url=redis, failover_wait=wait),
        stream=StreamSettings(**dict(stream)),
        kubernetes=server if isinstance(server, KubernetesSettings) else near(server),
        publisher=PublisherSettings(
            **{"health_host": "127.0.0.1", "health_port": 0, "probe_every": timedelta(milliseconds=200), **publisher},
            watch=WatchSettings(**{**FAST_WATCH, **dict(watch)}),
            lease=LeaseSettings(**{**FAST_LEASE, **dict(lease)}),
        ),
    )


def near(url: str) -> KubernetesSettings:
    return KubernetesSettings(server=url, request_timeout=timedelta(seconds=2))


class Publishing:
    """A process's threads inside this one."""

    def __init__(self, chosen: ProcessSettings) -> None:
        self.process = Process(chosen, Event())
        self.status: int | None = None
        self.thread = Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        self.status = self.process.run()

    @property
    def stamped(self) -> bool:
        return self.process.publisher.stamped

    @property
    def terms(self) -> int:
        return self.process.publisher.terms

    def stop(self) -> int | None:
        self.process.stop.set()
        self.thread.join(15)
        return self.status

    def probe(self, path: str) -> tuple[int, str]:
        """Status and text of an HTTP GET on the health port."""
        url = f"http://127.0.0.1:{self.process.health.server_address[1]}{path}"
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read().decode()

    def metric(self, name: str, **labels: str) -> float:
        return self.process.metrics.registry.get_sample_value(f"berthmaster_publisher_{name}", labels) or 0.0


@contextmanager
def publishing(
    server: str | KubernetesSettings, redis: str, stamped: bool = True, **chosen: Any
) -> Iterator[Publishing]:
    """Stopped at the end. With `stamped` it waits until the first lists are in."""
    running = Publishing(settings(server, redis, **chosen))
    try:
        if stamped:
            eventually(lambda: running.stamped)
        yield running
    finally:
        running.stop()


class PublisherProcess:
    """`python -m events` as its users start it: settings by environment, logs on standard output."""

    def __init__(self, chosen: ProcessSettings, logs: Path) -> None:
        self.logs = logs.open("w+b")
        variables = {**os.environ, **dict(environment("BERTHMASTER", chosen))}
        self.process = forked.start(["events"], variables, logs)

    def __enter__(self) -> PublisherProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.logs.close()

    def said(self, event: str) -> list[dict[str, Any]]:
        """The log lines of that event."""
        lines = Path(self.logs.name).read_bytes().splitlines()
        found = [orjson.loads(line) for line in lines if line.startswith(b"{")]
        return [line for line in found if line["event"] == event]

    def wait_for(self, event: str, timeout: float = 15) -> None:
        eventually(lambda: self.said(event), timeout)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Sends the signal; returns the exit status."""
        self.process.send_signal(number)
        return self.process.wait(20)


def environment(prefix: str, chosen: BaseModel) -> Iterator[tuple[str, str]]:
    """The variables that settings are read from again."""
    for name in type(chosen).model_fields:
        value, variable = getattr(chosen, name), f"{prefix}_{'_' if prefix.count('_') else ''}{name.upper()}"
        match value:
            case None:
                continue
            case BaseModel():
                yield from environment(variable, value)
            case timedelta():
                yield variable, f"{value.total_seconds()}s"
            case SecretStr():
                yield variable, value.get_secret_value()
            case _:
                yield variable, str(value)


class IdleWorker:
    """What the workers' side sees of Redis."""

    def __init__(self, redis: Redis) -> None:
        self.redis, self.queue, self.runs = redis, Workqueue(redis, hint_queue=routing.LATENCY), 0

    def snapshot(self, key: str) -> Snapshot | None:
        return self.queue.snapshot(key)

    def run(self, key: str) -> LeasedKey | Refusal:
        """Takes the key and ends the run at once."""
        self.runs += 1
        taken = self.queue.take(key, timedelta(seconds=30), f"nonce-{self.runs}")
        if isinstance(taken, LeasedKey):
            assert self.queue.done(taken, None)
        return taken

    def living(self) -> dict[str, int]:
        """Key to version of everything that Redis believes to be alive."""
        return {key: known.version for key, known in self.queue.stored_versions().items() if not known.gone}

    def ready(self) -> list[str]:
        """The ready keys, sorted."""
        return sorted(ready_keys(self.redis))

    def hints(self) -> int:
        """How many messages wait in the broker."""
        number: Any = self.redis.llen(routing.LATENCY)
        return int(number)

    def told(self) -> list[dict[str, Any]]:
        """The events of the stream."""
        entries: Any = self.redis.xrange(routing.EVENTS_STREAM)
        return [orjson.loads(fields[b"event"]) for _, fields in entries]
