"""The exceptions that mean "Redis is away, or went away meanwhile", in one place.

Callers outside the stores need the names without the Redis client, which only stores may import.
"""

from __future__ import annotations

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ReadOnlyError
from redis.exceptions import TimeoutError as RedisTimeoutError

# A server that loads its data answers BusyLoadingError, a ConnectionError; a demoted one ReadOnlyError.
OUTAGE = (RedisConnectionError, RedisTimeoutError, ReadOnlyError)
