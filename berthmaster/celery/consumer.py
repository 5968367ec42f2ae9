"""Consumers that a message cannot hurt, whatever it contains.

Celery rejects messages of unknown tasks and unreadable bodies, but one whose headers or body have another shape than it
expects raises out of its handler before anybody acknowledges it: it ends the worker, comes back after the visibility
timeout, and ends the next one, for ever. Workers read each message strictly before Celery does; runners, whose tasks
are their users' own, only catch what Celery raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import structlog
from celery.worker.consumer import Consumer

from berthmaster.celery import envelope
from berthmaster.celery.envelope import MessageRefused, brief
from berthmaster.metrics import MESSAGES_REFUSED

log = structlog.get_logger()


class TolerantConsumer(Consumer):
    """Rejects, counts and names what Celery cannot make a request of."""

    connection_errors: Any
    task_consumer: Any
    strategies: Any

    def on_unknown_message(self, body: Any, message: Any) -> None:  # noqa: ARG002 - Celery's signature
        self.refuse(message, "no_task", "headers.task: missing")

    def on_unknown_task(self, body: Any, message: Any, exc: Exception) -> None:
        """Celery tells who listens to its signal, as runners do."""
        MESSAGES_REFUSED.labels("unknown_task").inc()
        super().on_unknown_task(body, message, exc)

    def on_invalid_task(self, body: Any, message: Any, exc: Exception) -> None:  # noqa: ARG002 - Celery's signature
        """Also of what we do not take at all, as pickle is."""
        self.refuse(message, "invalid", str(exc))

    def on_decode_error(self, message: Any, exc: Exception) -> None:
        self.refuse(message, "undecodable", str(exc))

    def create_task_handler(self, *args: Any, **options: Any) -> Callable[[Any], None]:
        receive = super().create_task_handler(*args, **options)

        def received(message: Any) -> None:
            try:
                self.read(message)
                receive(message)
            except MessageRefused as error:
                self.refuse(message, error.reason, str(error))
            except self.connection_errors:
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is, it must not end the worker
                self.refuse(message, "malformed", repr(error))

        return received

    def read(self, message: Any) -> None:
        """Raises MessageRefused for what shall not reach Celery."""

    def refuse(self, message: Any, reason: str, problem: str) -> None:
        MESSAGES_REFUSED.labels(reason).inc()
        headers = envelope.as_mapping(message.headers)
        who = {name: brief.repr(headers.get(name)) for name in ("task", "id")}
        log.warning("message_refused", reason=reason, problem=problem[:500], **who)
        if not message.acknowledged:
            message.reject_log_error(log, self.connection_errors)
