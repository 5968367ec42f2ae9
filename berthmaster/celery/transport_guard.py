"""Guards for Celery on kombu 5.7's Redis transport. Without them a worker process ends, or stops reading messages.

Lost connection: when Redis goes away while a BRPOP is pending and a message is unacknowledged, kombu closes the channel
a second time after it has released its connection, and reads a host name from None. Nobody catches that AttributeError,
so the worker exits, and queued messages stay queued. The guard raises it as a connection error, after which Celery
reconnects.

Refusal: a server that is demoted, full or busy answers with an error, for seconds in each failover. redis-py makes it
an ordinary error, and kombu ends the worker. The guard gives kombu connections of a class that treats a refusal as a
lost connection (see berthmaster/redis/refusals.py). It also adds a pause: Celery would reconnect in a loop without one,
and log each attempt.

Refused acknowledgement: Celery logs it and goes on, but the message counts as unacknowledged while the connection
lasts. A worker that has lost all of its prefetch count in this way reads nothing more. The guard counts the message as
done, and asks the server again.

Refused transaction: redis-py reports a connection that is lost before EXEC is answered as a conflict. kombu repeats at
conflicts when it puts a message back, at once and for ever. A full server, which answers all but EXEC, would keep the
event loop busy for as long as it is full. The guard ends the transaction at a refusal.

Broken entry: an entry of a queue's list that is no message (no JSON, no properties) raises out of the event loop and
ends the worker that popped it. The guard drops, counts and logs it.

Looks for messages of dead workers: see berthmaster/celery/restoring.py.

Guards are installed once, however often `install` is called: a guard on top of itself made every publish fail. Tests
run the unguarded code, and fail when kombu no longer needs a guard.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections import deque
from queue import Empty
from typing import Any, Final

from celery.exceptions import CPendingDeprecationWarning
from celery.worker.consumer import Consumer
from kombu.transport import virtual
from kombu.transport.redis import Channel, QoS
from redis.client import Pipeline
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import DataError
from redis.exceptions import TimeoutError as RedisTimeoutError

from berthmaster.celery.restoring import restore_visible
from berthmaster.logger import get_logger
from berthmaster.metrics import MESSAGES_REFUSED
from berthmaster.redis.refusals import Refusable, caused, refused, spell

log = get_logger(__name__)
BROKEN = (ValueError, KeyError, TypeError, AttributeError, RecursionError, DataError)
"""Errors of kombu about an entry: no JSON, no properties, nested too deep, a delivery tag that Redis cannot store."""
LOST = (RedisConnectionError, RedisTimeoutError)
PAUSE: Final = 0.5
"""Seconds before Celery reconnects to a server that refuses. Connecting succeeds, so Celery itself does not wait."""
QUIETENED: Final = ("consumer.consumer", "consumer.connection", "consumer.mingle", "consumer.gossip", "request")
"""Loggers below `celery.worker` that log each attempt to reconnect."""


def _connparams(channel: Any, *args: Any, **options: Any) -> Any:
    if getattr(channel.connection, "client", None) is None:
        raise RedisConnectionError("the transport of this channel is closed")
    parameters = unguarded["_connparams"](channel, *args, **options)
    connection_class = parameters["connection_class"]
    parameters["connection_class"] = type(connection_class.__name__, (Refusable, connection_class), {})
    return parameters


def _brpop_read(channel: Any, **options: Any) -> Any:
    try:
        return unguarded["_brpop_read"](channel, **options)
    except BROKEN as error:
        MESSAGES_REFUSED.labels(getattr(error, "reason", "unreadable")).inc()
        log.exception("message_refused", error=repr(error)[:500])
        raise Empty from error


def _ack(qos: Any, delivery_tag: Any) -> None:
    try:
        unguarded["ack"](qos, delivery_tag)
    except LOST:
        _unconfirmed(qos).append(delivery_tag)
        virtual.QoS.ack(qos, delivery_tag)


def _reject(qos: Any, delivery_tag: Any, requeue: bool = False) -> None:
    """Reject a message; one that cannot be put back into its queue comes back after the visibility timeout."""
    try:
        unguarded["reject"](qos, delivery_tag, requeue=requeue)
    except LOST:
        if not requeue:
            _unconfirmed(qos).append(delivery_tag)
        virtual.QoS.ack(qos, delivery_tag)


def _can_consume(qos: Any) -> Any:
    """Tell whether to consume. The event loop asks in each cycle."""
    tags = _unconfirmed(qos)
    try:
        while tags:
            unguarded["_remove_from_indices"](qos, tags[0]).execute()
            tags.popleft()
    except LOST:
        pass
    return unguarded["can_consume"](qos)


def _unconfirmed(qos: Any) -> deque[Any]:
    tags: deque[Any] = qos.__dict__.setdefault("unconfirmed", deque())
    return tags


def _raise_on_watching(pipeline: Any, connection: Any, error: Exception, *args: Any, **options: Any) -> None:
    if pipeline.watching and refused(error):
        connection.disconnect()
        raise error
    unguarded["_disconnect_raise_on_watching"](pipeline, connection, error, *args, **options)


def _after_connected(consumer: Any, exc: Exception) -> None:
    """Without Celery's page about a setting of ours, each time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CPendingDeprecationWarning)
        unguarded["on_connection_error_after_connected"](consumer, exc)
    _pause(exc)


def _before_connected(consumer: Any, exc: Exception) -> None:
    unguarded["on_connection_error_before_connected"](consumer, exc)
    _pause(exc)


def _pause(error: Exception) -> None:
    if refused(error):
        time.sleep(PAUSE)


class Quiet(logging.Filter):
    """Drops the log lines about each attempt and lost connection during a spell, whose begin and end are logged."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return False for a line below WARNING, or one about a lost connection, during a spell."""
        if spell.lasts is None:
            return True
        given = [record.exc_info[1] if record.exc_info else None, *(record.args or ())]
        errors = (error for error in given if isinstance(error, Exception))
        return record.levelno >= logging.WARNING and not any(caused(error, RedisConnectionError) for error in errors)


GUARDS = {"_connparams": _connparams, "_brpop_read": _brpop_read}
QOS_GUARDS = {"ack": _ack, "reject": _reject, "can_consume": _can_consume, "restore_visible": restore_visible}
CONSUMER_GUARDS = {
    "on_connection_error_after_connected": _after_connected,
    "on_connection_error_before_connected": _before_connected,
}
PIPELINE_GUARDS = {"_disconnect_raise_on_watching": _raise_on_watching}
OF = ((Channel, GUARDS), (QoS, QOS_GUARDS), (Consumer, CONSUMER_GUARDS), (Pipeline, PIPELINE_GUARDS))
unguarded = {name: getattr(kind, name) for kind, guards in OF for name in guards}
of_qos: Any = QoS
unguarded["_remove_from_indices"] = of_qos._remove_from_indices
"""The functions of kombu and Celery, as they were when this module was imported."""
QUIET = Quiet()


def install() -> None:
    """Install the guards. Safe to call again: the guards call the functions of kombu, never one another."""
    for kind, guards in OF:
        for name, guard in guards.items():
            setattr(kind, name, guard)
    for name in ("celery.beat", "celery.app.trace", *(f"celery.worker.{name}" for name in QUIETENED)):
        logging.getLogger(name).addFilter(QUIET)
