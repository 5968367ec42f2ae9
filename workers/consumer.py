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


class TolerantConsumer(Consumer):
    """Rejects, counts and logs what Celery cannot make a request of."""

    connection_errors: Any

    def create_task_handler(self, *args: Any, **options: Any) -> Callable[[Any], Any]:
        receive = super().create_task_handler(*args, **options)

        def received(message: Any) -> Any:
            try:
                return receive(message)
            except MALFORMED as error:
                metrics.MESSAGES_REFUSED.labels("malformed").inc()
                log.exception("message_refused", error=repr(error), headers=str(message.headers)[:500])
                return message.reject_log_error(log, self.connection_errors)

        return received
