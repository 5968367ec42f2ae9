"""The client of the Redis of the state, with time-outs that a worker can live with.

Attempts are few and quick: a run that fails here leaves its key dirty, which costs less than a waiting thread. Every
script may be repeated: a token, a nonce or an owner makes the second execution harmless. So after a lost reply the
client simply asks again.
"""

from __future__ import annotations

from redis import Redis
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.retry import Retry

from berthmaster.redis.identity import Identity
from berthmaster.redis.incarnation import connect, doubt, incarnation
from berthmaster.redis.outage import OUTAGE
from berthmaster.redis.settings import RedisSettings
from berthmaster.redis.unusable import UnusableRedis

ATTEMPTS_AGAIN = 2
BRIEFLY = 2  # seconds; Prometheus gives a scrape ten


def connect_state(settings: RedisSettings, fleet: Identity | None = None) -> Redis:
    """Return a client; it connects on first use. `fleet`: the fleet that the server must belong to, if to any."""
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
    """Return a client for callers that prefer no answer to a late one."""
    waits = {"socket_timeout": BRIEFLY, "socket_connect_timeout": BRIEFLY}
    return connect(settings.url, fleet, retry=Retry(NoBackoff(), 0), **waits)


def unusable(redis: Redis) -> UnusableRedis | None:
    """Return why this Redis must not be used; None if it may, and while Redis is away."""
    doubt(redis)
    try:
        incarnation(redis)
    except UnusableRedis as refusal:
        return refusal
    except OUTAGE:
        pass
    return None
