"""The client of the Redis that holds the state, with time-outs that a worker can live with.

Attempts are few and quick: whoever fails here leaves its key dirty, which costs less than a thread that waits. Every
script may be repeated (a token, a nonce or an owner makes the second time harmless), so that a lost reply is simply
asked again.
"""

from __future__ import annotations

from redis import Redis
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.retry import Retry

from events.incarnation import connect
from events.settings import RedisSettings

ATTEMPTS_AGAIN = 2
BRIEFLY = 2  # seconds; Prometheus gives a scrape ten


def connect_state(settings: RedisSettings) -> Redis:
    """Connects when it is first used."""
    return connect(
        settings.url,
        socket_timeout=5,
        socket_connect_timeout=3,
        socket_keepalive=True,
        health_check_interval=15,
        retry=Retry(ExponentialBackoff(cap=0.5, base=0.05), ATTEMPTS_AGAIN),
    )


def connect_briefly(settings: RedisSettings) -> Redis:
    """For who would rather have no answer than a late one."""
    return connect(settings.url, socket_timeout=BRIEFLY, socket_connect_timeout=BRIEFLY, retry=Retry(NoBackoff(), 0))
