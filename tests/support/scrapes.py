"""Asking as Prometheus does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from compose.sandbox.free_ports import free_port
from tests.support.servers.celery_worker import CeleryProcess


def scraped(url: str) -> list[Sample]:
    with urlopen(url, timeout=5) as answer:
        text = answer.read().decode()
    return [sample for family in text_string_to_metric_families(text) for sample in family.samples]


class Endpoint:
    """Of a process that serves its metrics on this port."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/metrics"

    def states(self, name: str, **labels: str) -> dict[str, float]:
        """The other label of each sample that has these -> value."""
        found = [s for s in scraped(self.url) if s.name == name and labels.items() <= s.labels.items()]
        return {",".join(value for label, value in s.labels.items() if label not in labels): s.value for s in found}

    def total(self, name: str, **labels: str) -> float:
        return sum(self.states(name, **labels).values())

    def names(self) -> set[str]:
        return {sample.name for sample in scraped(self.url)}


@contextmanager
def idle_worker(redis_url: str, directory: Path) -> Iterator[Endpoint]:
    """A real worker that nobody sends tasks."""
    port = str(free_port())
    own = {"BERTHMASTER_METRICS__PORT": port, "BERTHMASTER_METRICS__ADDRESS": "127.0.0.1"}
    worker = CeleryProcess("worker", "scraped", directory, redis_url, own, application="workers.app")
    try:
        worker.start().ready()
        yield Endpoint(int(port))
    finally:
        worker.kill()
