"""What a whole stack has spent so far: CPU time, round trips, requests, calls. Two readings give the cost of a time.

CPU time is that of whole processes, user and system, so that it counts system calls and native code, which samples of
Python threads do not. Counts are those of the servers: whoever asks, by whatever library, is counted.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Thread
from typing import Any, Final, cast

import psutil
from redis import Redis

from berthmaster.jobs.scripts import load_scripts
from berthmaster.redis.scripts import Script
from compose.sandbox.kube.small import SmallKube
from events.protocol import claim_index
from events.workqueue import queue
from events.workqueue.shard import AHEAD, tables
from tests.bench.memory_stack import MemoryStack
from workers.stores.ports import ledger

Spent = dict[str, float]
"""By name: `cpu worker` in seconds; `redis round trips`, `redis bytes`, `http get pods`, `http bytes`, `cloud tag`.
`seconds` is the time of the reading.
"""
OURS: Final = "berthmaster"
STREAMS: Final = frozenset({"watch"})
LEASES: Final = frozenset({"leases"})
"""Requests that come with the time and not with the work."""
OBSERVER: Final = "bench-observer"
"""The name of the connections that only look; what they ask is not counted."""
FOLDERS: Final = (queue.LUA, claim_index.LUA, ledger.LUA)


@dataclass
class Meter:
    """Reads what the stack has spent. `more` are process ids beyond those of the stack, by part."""

    stack: MemoryStack
    more: Mapping[str, int] = field(default_factory=dict)
    looks: int = 0

    def __post_init__(self) -> None:
        self.redis = Redis.from_url(self.stack.redis.url, client_name=OBSERVER)

    def read(self) -> Spent:
        spent = {f"cpu {part}": cpu_time(process) for part, process in self.processes().items()}
        return {**spent, **self.of_redis(), **self.of_kubernetes(), **self.of_cloud(), "seconds": time.monotonic()}

    def processes(self) -> dict[str, int]:
        """Of ours and of Redis; neither the load nor what stands for Kubernetes and AWS."""
        daemons = {"publisher": self.stack.publisher, "beat": self.stack.beat, "redis": self.stack.redis.daemon}
        daemons |= {"worker": self.stack.workers[0]}
        return {**{part: one.process.pid for part, one in daemons.items() if one.process}, **self.more}

    def of_redis(self) -> Spent:
        """A read event of the server is a round trip: one command, or a pipeline. Our own are left out."""
        stats: Any = self.redis.info("stats")
        self.looks += 1
        size = stats["total_net_input_bytes"] + stats["total_net_output_bytes"]
        return {"redis round trips": stats["total_reads_processed"] - self.looks, "redis bytes": size}

    def of_kubernetes(self) -> Spent:
        kube = self.stack.kube
        assert isinstance(kube, SmallKube)
        spent = Counter[str]()
        for row in kube.requests():
            if row["client"].startswith(OURS) and row["verb"] not in STREAMS and row["resource"] not in LEASES:
                spent[f"http {row['verb']} {row['resource']}"] += row["count"]
                spent["http bytes"] += row["bytes"]
        return dict(spent)

    def of_cloud(self) -> Spent:
        return {f"cloud {method}": number for method, number in self.stack.cloud_calls().items()}

    def quiet(self) -> bool:
        """Nothing is queued, held or unacknowledged. One round trip, which is not counted."""
        self.looks += 1
        pipe = self.redis.pipeline(transaction=False)
        for key in ("{queue}hold", "unacked"):
            pipe.hlen(key)
        return not any(pipe.execute())

    def commands(self, act: Callable[[], object]) -> Counter[str]:
        """What clients sent meanwhile, by name; a script by its file's name. Not what scripts call."""
        names, sent, client = script_names(self.redis), list[tuple[str, str]](), cast(Any, self.redis)
        with client.monitor() as monitor:
            listener = Thread(target=lambda: listen(monitor, sent), daemon=True)
            listener.start()
            act()
            self.redis.echo("over")
            listener.join(10)
        own = {entry["addr"] for entry in client.client_list() if entry["name"] == OBSERVER}
        return Counter(named(command, names) for address, command in sent if address not in own)


def listen(monitor: Any, sent: list[tuple[str, str]]) -> None:
    for line in monitor.listen():
        if line["command"] == "ECHO over":
            return
        if line["client_type"] != "lua":
            sent.append((f"{line['client_address']}:{line['client_port']}", line["command"]))


def named(command: str, scripts: Mapping[str, str]) -> str:
    name, _, rest = command.partition(" ")
    return scripts.get(rest.partition(" ")[0], name) if name.upper() == "EVALSHA" else name.upper()


def script_names(redis: Redis) -> dict[str, str]:
    """By digest, which script it is."""
    files = [(path.stem, folder) for folder in FOLDERS for path in folder.glob("*.lua")]
    scripts = [*load_scripts(redis).values(), *(Script(redis, name, folder, tables(AHEAD)) for name, folder in files)]
    return {script.digest: f"{script.name}.lua" for script in scripts}


def cpu_time(process: int) -> float:
    """Seconds that the process has used so far."""
    times = psutil.Process(process).cpu_times()
    return times.user + times.system


def difference(after: Spent, before: Spent) -> Spent:
    return {name: value - before.get(name, 0) for name, value in after.items()}
