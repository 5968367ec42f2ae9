"""A consumer that a malformed message cannot hurt.

Celery rejects messages of unknown tasks and unreadable bodies, but one whose headers or body have another shape than it
expects raises out of its handler before anybody acknowledges it: it ends the worker, comes back after the visibility
timeout, and ends the next one, for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import structlog
from celery.worker.consumer import Consumer

from workers import metrics

log = structlog.get_logger()
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
