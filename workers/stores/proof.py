"""Whether a Redis takes writes now, for probes."""

from __future__ import annotations

from contextlib import closing, suppress

from redis.exceptions import RedisError

from berthmaster.redis.client import connect_briefly
from berthmaster.redis.refusals import RefusedError, prove
from berthmaster.redis.settings import RedisSettings


def refusal(url: str) -> str | None:
    """Return why it takes no writes. None: it does, or it does not answer at all, or it is no Redis."""
    with suppress(RedisError, ValueError), closing(connect_briefly(RedisSettings(url=url))) as redis:
        try:
            prove(redis)
        except RefusedError as error:
            return str(error)
    return None
