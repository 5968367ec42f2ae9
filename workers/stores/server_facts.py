"""What a Redis server says of itself, as far as we depend on it."""

from __future__ import annotations

from typing import Any, NamedTuple

from redis import Redis


class ServerFacts(NamedTuple):
    version: tuple[int, ...]
    append_only: bool
    eviction: str


def server_facts(redis: Redis) -> ServerFacts:
    """From INFO, which managed servers allow where they forbid CONFIG."""
    info: Any = {}
    for section in ("server", "persistence", "memory"):
        info |= redis.info(section)
    version = tuple(int(part) for part in str(info["redis_version"]).split(".") if part.isdigit())
    return ServerFacts(version, bool(info.get("aof_enabled")), str(info.get("maxmemory_policy", "unknown")))
