"""The whole stack of the sandbox with a cloud that answers at once, so that what is left is our own time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from berthmaster.redis.incarnation import connect as connect_redis
from compose.sandbox.daemon import Daemon
from compose.sandbox.stack import Stack
from domain.port_pools.load_balancer_spec import LoadBalancerParameters
from tests.support.ports.shared_cloud import connect, served
from tests.support.scrapes import scraped
from workers.cloud.call_budget import ApiClass
from workers.cloud.driver import LoadBalancerApi

APPLICATION: Final = "tests.bench.memory_worker"
GENEROUS: Final = {
    f"BERTHMASTER_AWS__RATES__{name}__{field}": "1000000"
    for name in ("REGISTRATION", "MODIFY", "WRITE", "DESCRIBE")
    for field in ("PER_SECOND", "BURST")
}
"""Every call takes its token, and there always is one."""
COUNTED: Final = frozenset({"berthmaster_reconciles_total", "berthmaster_takes_refused_total"})
assert len(GENEROUS) == 2 * len(ApiClass)


class MemoryStack(Stack):
    """`cloud_address` is where the cloud listens, in place of AWS."""

    def __init__(self, directory: Path, workers: int = 2, settings: Mapping[str, str] | None = None) -> None:
        super().__init__(directory, flower=False, workers=0, settings={**GENEROUS, **(settings or {})})
        self.cloud_address = f"127.0.0.1:{self.aws_port}"
        self.settings["BENCH_CLOUD"] = self.cloud_address
        self.aws = self.daemon("cloud", ["-m", "tests.support.ports.shared_cloud", "--port", str(self.aws_port)])
        self.workers = [self.worker(f"worker-{number + 1}") for number in range(workers)]

    def worker(self, name: str) -> Daemon:
        daemon = super().worker(name)
        daemon.command = [APPLICATION if word == "workers.app" else word for word in daemon.command]
        return daemon

    def restrict_aws(self) -> None:
        """This cloud permits everything."""

    @property
    def cloud(self) -> LoadBalancerApi:
        return connect(self.cloud_address)

    def cloud_calls(self) -> dict[str, int]:
        """By method, since the start."""
        counted: dict[str, int] = served(self.cloud_address).counted()
        return counted

    def held(self) -> int:
        """Keys in the hands of runs."""
        redis = connect_redis(self.redis.url)
        number: Any = redis.hlen("{queue}hold")
        redis.close()
        return int(number)

    def pod_runs(self) -> Counter[str]:
        """Of pods, by outcome, and `refused_...` for hints that were no run: what the workers have counted so far."""
        outcomes = Counter[str]()
        for worker in self.workers:
            for sample in scraped(f"http://127.0.0.1:{worker.env['BERTHMASTER_METRICS__PORT']}/metrics"):
                if sample.name in COUNTED and sample.labels["kind"] == "pod":
                    outcomes[sample.labels.get("outcome") or f"refused_{sample.labels['reason']}"] += int(sample.value)
        return outcomes

    def existing_balancers(self, number: int) -> list[str]:
        """ARNs of load balancers that somebody else has made."""
        cloud = self.cloud
        made: Any = [
            cloud.create_load_balancer(f"given-{n:03}", LoadBalancerParameters(), {}).arn for n in range(number)
        ]
        return list(made)
