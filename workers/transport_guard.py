"""Three guards for kombu 5.7's Redis transport: without them a worker process ends.

Lost connection: when Redis goes away while a BRPOP is pending and a message is unacknowledged, kombu closes the
channel a second time after it has let go of its connection, and reads a host name from None. Nobody catches that
AttributeError, so the worker exits and what is queued stays queued. As a connection error it takes the ordinary way:
reconnect.

Broken entry: an entry of a queue's list that is no message (no JSON, no properties) raises out of the event loop and
ends the worker that popped it. It is dropped, counted and logged instead.

No replicas: a master that has lost its replicas refuses writes (`min-replicas-to-write`), for seconds in each failover.
Redis-py makes an ordinary error of that, and kombu ends the worker, which can neither take nor acknowledge. As a
connection error it waits, and asks the sentinels anew.

Guards are put in once, however often they are asked for (put on top of itself, the first made every publish fail);
tests run the unguarded code, and fail when kombu no longer needs a guard.
"""

from __future__ import annotations

from queue import Empty
from typing import Any

import structlog
from kombu.transport.redis import Channel
from redis.connection import DefaultParser
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import DataError

from workers import metrics

log = structlog.get_logger()
BROKEN = (ValueError, KeyError, TypeError, AttributeError, RecursionError, DataError)
"""What kombu raises for an entry: no JSON, no properties, nested too deep, a delivery tag that Redis cannot store."""


def _connparams(channel: Any, *args: Any, **options: Any) -> Any:
    if getattr(channel.connection, "client", None) is None:
        raise RedisConnectionError("the transport of this channel is closed")
    return unguarded["_connparams"](channel, *args, **options)


def _brpop_read(channel: Any, **options: Any) -> Any:
    try:
        return unguarded["_brpop_read"](channel, **options)
    except BROKEN as error:
        metrics.MESSAGES_REFUSED.labels(getattr(error, "reason", "unreadable")).inc()
        log.exception("message_refused", error=repr(error)[:500])
        raise Empty from error


GUARDS = {"_connparams": _connparams, "_brpop_read": _brpop_read}
unguarded = {name: getattr(Channel, name) for name in GUARDS}
"""What kombu ships, as it was when this module was imported."""


def install() -> None:
    """Safe to call again: the guards call what kombu ships, never one another."""
    for name, guard in GUARDS.items():
        setattr(Channel, name, guard)
    DefaultParser.EXCEPTION_CLASSES["NOREPLICAS"] = RedisConnectionError
