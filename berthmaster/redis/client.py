"""The client of the Redis that holds the state, with time-outs that a worker can live with.

Attempts are few and quick: whoever fails here leaves its key dirty, which costs less than a thread that waits. Every
script may be repeated (a token, a nonce or an owner makes the second time harmless), so that a lost reply is simply
asked again.
"""

from __future__ import annotations

from redis import Redis
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.retry import Retry

from berthmaster.redis.identity import AnotherFleet, Identity
from berthmaster.redis.incarnation import connect, doubt, incarnation
from berthmaster.redis.outage import OUTAGE
from berthmaster.redis.settings import RedisSettings

ATTEMPTS_AGAIN = 2
BRIEFLY = 2  # seconds; Prometheus gives a scrape ten


def connect_state(settings: RedisSettings, fleet: Identity | None = None) -> Redis:
    """Connects when it is first used. `fleet`: the one that the server must belong to, if it belongs to one."""
    return connect(
        settings.url,
        fleet,
        socket_timeout=5,
        socket_connect_timeout=3,
        socket_keepalive=True,
        health_check_interval=15,
        retry=Retry(ExponentialBackoff(cap=0.5, base=0.05), ATTEMPTS_AGAIN),
    )


def connect_briefly(settings: RedisSettings, fleet: Identity | None = None) -> Redis:
    """For who would rather have no answer than a late one."""
    waits = {"socket_timeout": BRIEFLY, "socket_connect_timeout": BRIEFLY}
    return connect(settings.url, fleet, retry=Retry(NoBackoff(), 0), **waits)


def other_fleet(redis: Redis) -> AnotherFleet | None:
    """Why this Redis is not to be used; None also while it is away."""
    doubt(redis)
    try:
        incarnation(redis)
    except AnotherFleet as refusal:
        return refusal
    except OUTAGE:
        pass
    return None
