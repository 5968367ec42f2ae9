"""The exceptions that mean "Redis is away, went away meanwhile, or refuses for now", in one place.

Callers outside the stores need these names without the Redis client, which only stores may import.
"""

from __future__ import annotations

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

OUTAGE = (RedisConnectionError, RedisTimeoutError)
"""Answers that mean "not now" are RefusedError, a ConnectionError, over every connection of ours."""
