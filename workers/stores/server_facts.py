"""The facts about a Redis server that we depend on."""

from __future__ import annotations

from typing import Any, NamedTuple

from redis import Redis
from redis.exceptions import RedisError

from berthmaster.clock import wall_clock
from berthmaster.redis.address import without
from berthmaster.redis.client import connect_briefly
from berthmaster.redis.settings import RedisSettings


class ServerFacts(NamedTuple):
    """`valkey`: the version of a Valkey; `version` is then that of its Redis ancestor.

    `memory` is the share of `maxmemory` in use, None without a limit. `clock`: seconds that the server is ahead.
    """

    version: tuple[int, ...]
    append_only: bool
    eviction: str
    role: str = "master"
    loading: bool = False
    memory: float | None = None
    clock: float = 0.0
    valkey: tuple[int, ...] = ()


def server_facts(redis: Redis) -> ServerFacts:
    """Read the facts from INFO, which managed servers allow where they forbid CONFIG."""
    info: Any = {}
    for section in ("server", "persistence", "memory", "replication"):
        info |= redis.info(section)
    return ServerFacts(
        _version(info["redis_version"]),
        bool(info.get("aof_enabled")),
        str(info.get("maxmemory_policy", "unknown")),
        str(info.get("role", "unknown")),
        bool(info.get("loading")),
        int(info["used_memory"]) / int(info["maxmemory"]) if info.get("maxmemory") else None,
        clock_ahead(redis),
        _version(info.get("valkey_version", "")),
    )


def lets_everybody_in(settings: RedisSettings) -> bool:
    """Tell whether the server answers without a password: asks it on a connection without one."""
    with connect_briefly(RedisSettings(url=without(settings.url, ("username", "password")))) as stranger:
        try:
            return bool(stranger.ping())
        except RedisError:
            return False


def _version(text: object) -> tuple[int, ...]:
    return tuple(int(part) for part in str(text).split(".") if part.isdigit())


def clock_ahead(redis: Redis) -> float:
    """Return how far the server's clock is ahead, as if it was read halfway between question and answer."""
    asked = wall_clock().timestamp()
    seconds, microseconds = redis.time()
    return float(seconds) + float(microseconds) / 1e6 - (asked + wall_clock().timestamp()) / 2
