"""Consumers that no message can end, whatever it contains.

Celery rejects messages of unknown tasks and with unreadable bodies. But a message whose headers or body have an
unexpected shape raises out of Celery's handler before it is acknowledged. It ends the worker, comes back after the
visibility timeout, and ends the next worker, for ever. Our workers read each message strictly before Celery does.
Runners only catch what Celery raises, because their tasks are their users' own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from celery.worker.consumer import Consumer

from berthmaster.celery import envelope
from berthmaster.celery.envelope import MessageRefused, brief
from berthmaster.logger import get_logger
from berthmaster.metrics import MESSAGES_REFUSED

log = get_logger(__name__)


class TolerantConsumer(Consumer):
    """Rejects, counts and logs every message that Celery cannot turn into a request."""

    connection_errors: Any
    task_consumer: Any
    strategies: Any

    def on_unknown_message(self, body: Any, message: Any) -> None:  # noqa: ARG002 - Celery's signature
        """Refuse a message that names no task."""
        self.refuse(message, "no_task", "headers.task: missing")

    def on_unknown_task(self, body: Any, message: Any, exc: Exception) -> None:
        """Celery tells who listens to its signal, as runners do."""
        MESSAGES_REFUSED.labels("unknown_task").inc()
        super().on_unknown_task(body, message, exc)

    def on_invalid_task(self, body: Any, message: Any, exc: Exception) -> None:  # noqa: ARG002 - Celery's signature
        """Also of what we do not take at all, as pickle is."""
        self.refuse(message, "invalid", str(exc))

    def on_decode_error(self, message: Any, exc: Exception) -> None:
        """Refuse a message whose body cannot be decoded."""
        self.refuse(message, exc.reason if isinstance(exc, MessageRefused) else "undecodable", str(exc))

    def create_task_handler(self, *args: Any, **options: Any) -> Callable[[Any], None]:
        """Return Celery's handler of messages, which refuses where Celery's own would raise."""
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
        """Raise MessageRefused for a message that must not reach Celery."""

    def refuse(self, message: Any, reason: str, problem: str) -> None:
        """Count, log and reject a message; `problem` says what is wrong with it."""
        MESSAGES_REFUSED.labels(reason).inc()
        headers = envelope.as_mapping(message.headers)
        who = {name: brief.repr(headers.get(name)) for name in ("task", "id")}
        log.warning("message_refused", reason=reason, problem=problem[:500], **who)
        if not message.acknowledged:
            message.reject_log_error(log, self.connection_errors)
