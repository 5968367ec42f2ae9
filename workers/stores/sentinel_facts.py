"""What each sentinel of an address reports about our master."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from redis import Redis
from redis.exceptions import RedisError, ResponseError

from berthmaster.redis.address import SentinelAddress
from berthmaster.redis.sentinels import sentinels


class SentinelFacts(NamedTuple):
    """The report of one sentinel. `error`: why it does not answer. `master`: host:port, '' if unknown.

    `quorum`: why the sentinel could not name another master, '' if it could or we may not ask.
    """

    at: str
    error: str = ""
    masters: tuple[str, ...] = ()
    master: str = ""
    quorum: str = ""


class Replication(NamedTuple):
    """The master's replicas. `needed`: how many it needs to accept writes. `lag`: seconds until it refuses without
    them.

    `needed` 1 may stand for more where the server forbids the question.
    """

    replicas: int
    needed: int
    lag: int | None = None


def sentinel_facts(address: SentinelAddress) -> Iterator[SentinelFacts]:
    """Ask each sentinel of the address."""
    for (host, port), client in zip(address.sentinels, sentinels(address).sentinels, strict=True):
        with client:
            yield _of_one(f"{host}:{port}", client, address.master)


def _of_one(at: str, client: Redis, name: str) -> SentinelFacts:
    try:
        masters: dict[str, Any] = client.sentinel_masters()  # type: ignore[assignment] # redis-py has both kinds in one
    except RedisError as error:
        return SentinelFacts(at, error=str(error) or type(error).__name__)
    facts = SentinelFacts(at, masters=tuple(sorted(masters)))
    if (state := masters.get(name)) is None:
        return facts
    return facts._replace(master=f"{state['ip']}:{state['port']}", quorum=_quorum(client, name))


def _quorum(client: Redis, name: str) -> str:
    asked: Any = client
    try:
        asked.execute_command("SENTINEL", "CKQUORUM", name)
    except ResponseError as error:
        return str(error) if str(error).startswith("NOQUORUM") else ""
    except RedisError:
        return ""
    return ""


def replication(redis: Redis) -> Replication:
    """Ask the master. Raises RedisError."""
    info: Any = redis.info("replication")
    limits, needs = _limits(redis), "min_slaves_good_slaves" in info
    needed = limits.get("min-replicas-to-write", int(needs))
    return Replication(int(info["connected_slaves"]), needed, limits.get("min-replicas-max-lag"))


def _limits(redis: Redis) -> dict[str, int]:
    """Ask for the limits. Empty where the server forbids the question."""
    try:
        options: Any = redis.config_get("min-replicas-*")
    except ResponseError:
        return {}
    return {str(name): int(value) for name, value in options.items()}
