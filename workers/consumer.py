"""A consumer that a malformed message cannot hurt.

Celery rejects messages of unknown tasks and unreadable bodies, but one whose headers or body have another shape than it
expects raises out of its handler before anybody acknowledges it: it ends the worker, comes back after the visibility
timeout, and ends the next one, for ever.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import structlog
from celery.worker.consumer import Consumer
from celery.worker.state import maybe_shutdown

from workers import metrics
from workers.bootstrap import services
from workers.stores.client import other_fleet

log = structlog.get_logger()
PAUSE = 2.0  # seconds between two looks at a Redis that belongs to another fleet
MALFORMED = (ValueError, TypeError, LookupError, AttributeError)


def refused(reason: str) -> None:
    metrics.MESSAGES_REFUSED.labels(reason).inc()


class TolerantConsumer(Consumer):
    """Rejects, counts and logs what Celery cannot make a request of; Celery itself logs what it refuses, uncounted."""

    connection_errors: Any

    def on_unknown_message(self, body: Any, message: Any) -> None:
        refused("no_task")
        super().on_unknown_message(body, message)

    def on_unknown_task(self, body: Any, message: Any, exc: Exception) -> None:
        refused("unknown_task")
        super().on_unknown_task(body, message, exc)

    def on_invalid_task(self, body: Any, message: Any, exc: Exception) -> None:
        """Also of what we do not take at all, as pickle is."""
        refused("invalid")
        super().on_invalid_task(body, message, exc)

    def on_decode_error(self, message: Any, exc: Exception) -> None:
        refused("undecodable")
        super().on_decode_error(message, exc)

    def create_task_handler(self, *args: Any, **options: Any) -> Callable[[Any], Any]:
        receive = super().create_task_handler(*args, **options)

        def received(message: Any) -> Any:
            try:
                return receive(message)
            except MALFORMED as error:
                refused("malformed")
                log.exception("message_refused", error=repr(error), headers=str(message.headers)[:500])
                return message.reject_log_error(log, self.connection_errors)

        return received


class OwnConsumer(TolerantConsumer):
    """Of a worker of ours: takes no messages while its Redis belongs to another fleet, and does not end either: what
    runs in it has work in hand.
    """

    def connect(self) -> Any:
        """Waits for the broker, and then for a Redis of its own."""
        connection = super().connect()
        while refusal := other_fleet(services().redis):
            log.error("redis_of_another_fleet", error=str(refusal))
            time.sleep(PAUSE)
            maybe_shutdown()
        return connection
