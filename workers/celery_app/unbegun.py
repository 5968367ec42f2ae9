"""Gives the messages back that a worker has taken and not begun, when it is asked to end.

Celery gives them back when it closes its channel, which is after the last run: until then nobody has them. One of them
is often the answer to the last BRPOP. Redis sends it up to a second after the consumer was cancelled.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from queue import Empty
from typing import Any

from celery.worker import state


def asked_to_end() -> bool:
    """Tell whether this worker process was asked to end. Children of prefork are not told."""
    return any(asked is not None and asked is not False for asked in (state.should_stop, state.should_terminate))


def stop_reading(task_consumer: Any) -> None:
    """Cancel the consumer, and read what the broker has sent before: nobody consumes it, so kombu puts it back."""
    task_consumer.cancel()
    channel = task_consumer.channel
    if getattr(channel, "_in_poll", None):  # of kombu's Redis transport
        with suppress(Empty):
            channel._brpop_read()


def give_back(requests: Any, discard: Callable[[], None]) -> None:
    """Put the messages of `requests` back into their queues, after `discard`, which keeps the pool from running them.

    A thread may begin one meanwhile. Then the message comes twice, which does no harm.
    """
    unbegun = set(requests) - set(state.active_requests)
    discard()
    for request in unbegun:
        request.reject(requeue=True)
