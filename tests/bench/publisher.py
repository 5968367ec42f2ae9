"""Watch lines to Redis: snapshot, dirty mark, hint and stream entry, in turns with what bounds it.

The bounds are the same lines only read and parsed, and as many plain SETs in pipelines. Each side runs in a process of
its own. "One core" is the CPU time of that process: a second of it, not of the clock, which others share.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import orjson
from redis import Redis

from berthmaster import routing
from berthmaster.redis.incarnation import connect
from compose.sandbox.redis_server import RedisServer
from tests.bench.measuring import Figure, Report, Tell, in_turns, ratio
from tests.bench.settled import run_once, settled_pods
from tests.bench.watch_source import source

NAME: Final = "publisher"
KEYS: Final = 20
"""Distinct keys among the events that coalesce."""
BOUND: Final = 5_000
"""Bound pods whose memory is measured, each after a run of its own."""


def run(quick: bool, tell: Tell) -> Report:
    events, rounds, listed = (5_000, 3, 10_000) if quick else (20_000, 5, 50_000)
    with tempfile.TemporaryDirectory() as folder:
        server = RedisServer(Path(folder)).start()
        try:
            race = Race(server.url, events)
            tell(f"{events} events, {rounds} rounds")
            rates = in_turns(rounds, race.sides())
            tell(f"a list of {listed} pods")
            memory = first_list(server.url, listed)
        finally:
            server.kill()
    figures = (*race_figures(rates, race), *memory_figures(memory, listed))
    return Report(NAME, figures, {"events": events, "per_cpu_second": rates, "sides": race.told, "list": memory})


class Race:
    """Each side returns its events a CPU second; `told` keeps all that it said."""

    def __init__(self, redis_url: str, events: int) -> None:
        self.redis_url, self.events = redis_url, events
        self.told: dict[str, list[dict[str, float]]] = {}

    def sides(self) -> dict[str, Any]:
        return {
            "read": lambda: self.side("read", "read", self.events),
            "coalescing": lambda: self.side("coalescing", "publish", KEYS),
            "distinct": lambda: self.side("distinct", "publish", self.events),
            "set": lambda: self.side("set", "set", 1),
        }

    def side(self, name: str, kind: str, keys: int) -> float:
        with source(self.events, keys) as url:
            told = follow(kind, url, self.redis_url, self.events)
        self.told.setdefault(name, []).append(told)
        return told["per_cpu_second"]

    def median(self, name: str, what: str) -> float:
        return statistics.median(told[what] for told in self.told[name])


def follow(kind: str, url: str, redis_url: str, events: int) -> dict[str, float]:
    told = ["--url", url, "--redis", redis_url, "--events", str(events)]
    command = [sys.executable, "-m", "tests.bench.follow", kind, *told]
    *_logs, last = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.splitlines()
    answer: dict[str, float] = orjson.loads(last)
    return answer


def race_figures(rates: dict[str, list[float]], race: Race) -> tuple[Figure, ...]:
    def absolute(name: str, budget: float) -> Figure:
        clock = f"{race.median(name, 'per_second'):.0f} a second of the clock"
        return Figure(f"{name}, one core", race.median(name, "per_cpu_second"), "/s", at_least=budget, note=clock)

    return (
        absolute("coalescing", 5000),
        absolute("distinct", 1500),
        Figure("coalescing / only reading the lines", ratio(rates["coalescing"], rates["read"]), "x"),
        Figure("distinct / only reading the lines", ratio(rates["distinct"], rates["read"]), "x"),
        Figure("distinct / plain SETs in pipelines", ratio(rates["distinct"], rates["set"]), "x"),
        Figure("peak memory while following", race.median("distinct", "rss"), "MB"),
    )


def first_list(redis_url: str, listed: int) -> dict[str, float]:
    """The publisher's first list of a big cluster: its memory, and what a pod takes in Redis."""
    redis = connect(redis_url)
    with source(0, 1, listed) as url:
        told = follow("list", url, redis_url, listed)
    redis.delete(routing.EVENTS_STREAM, routing.LATENCY)  # capped, and read by the workers
    listed_bytes = stored(redis) / listed
    redis.flushall()
    run_once(redis, settled_pods(redis, BOUND))
    bound_bytes = stored(redis) / BOUND
    redis.close()
    return {**told, "redis_bytes_listed": listed_bytes, "redis_bytes_bound": bound_bytes}


def stored(redis: Redis) -> int:
    """Bytes of all keys, by the server's own account of each."""
    sizes: Any = [redis.memory_usage(key, samples=1000) for key in redis.scan_iter(count=1000)]
    return int(sum(sizes))


def memory_figures(memory: dict[str, float], listed: int) -> tuple[Figure, ...]:
    return (
        Figure(f"peak memory with {listed} pods", memory["rss"], "MB", at_most=300),
        Figure("Redis, a pod that is listed", memory["redis_bytes_listed"], "B", at_most=500, note="and not run yet"),
        Figure(
            "Redis, a pod that is bound", memory["redis_bytes_bound"], "B", at_most=1000, note="with its port, run once"
        ),
    )
