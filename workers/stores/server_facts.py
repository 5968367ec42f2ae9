"""What a Redis server says of itself, as far as we depend on it."""

from __future__ import annotations

from typing import Any, NamedTuple

from redis import Redis

from events.clock import wall_clock


class ServerFacts(NamedTuple):
    """`memory` is the share of `maxmemory` in use, None without a limit. `clock`: seconds that the server is ahead."""

    version: tuple[int, ...]
    append_only: bool
    eviction: str
    role: str = "master"
    loading: bool = False
    memory: float | None = None
    clock: float = 0.0


def server_facts(redis: Redis) -> ServerFacts:
    """From INFO, which managed servers allow where they forbid CONFIG."""
    info: Any = {}
    for section in ("server", "persistence", "memory", "replication"):
        info |= redis.info(section)
    version = tuple(int(part) for part in str(info["redis_version"]).split(".") if part.isdigit())
    return ServerFacts(
        version,
        bool(info.get("aof_enabled")),
        str(info.get("maxmemory_policy", "unknown")),
        str(info.get("role", "unknown")),
        bool(info.get("loading")),
        int(info["used_memory"]) / int(info["maxmemory"]) if info.get("maxmemory") else None,
        clock_ahead(redis),
    )


def clock_ahead(redis: Redis) -> float:
    """As if the server had looked at its clock halfway between question and answer."""
    asked = wall_clock().timestamp()
    seconds, microseconds = redis.time()
    return float(seconds) + float(microseconds) / 1e6 - (asked + wall_clock().timestamp()) / 2
