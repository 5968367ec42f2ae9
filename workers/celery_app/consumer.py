"""The consumer of our workers, apart from the one that runners import without a worker's imports."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import structlog
from celery.worker.state import maybe_shutdown, reserved_requests
from kombu.transport.pyamqp import Channel as AmqpChannel
from kombu.transport.virtual import Channel

from berthmaster import routing
from berthmaster.celery import envelope
from berthmaster.celery.consumer import TolerantConsumer
from berthmaster.celery.envelope import UncompressedAmqpMessage, UncompressedMessage
from berthmaster.clock import wall_clock
from berthmaster.redis.client import unusable
from workers.celery_app.refused_submissions import tell_refused_message
from workers.celery_app.unbegun import asked_to_end, give_back, stop_reading
from workers.wiring.process import services

log = structlog.get_logger()
PAUSE = 2.0  # seconds between two looks at a Redis that must not be used
OF_CELERY = "celery."
"""The prefix of the tasks that Celery itself brings for canvases."""


class OwnConsumer(TolerantConsumer):
    """The consumer of our workers: gives Celery only well-formed messages of our own tasks.

    While its Redis must not be used it takes no message, and does not end either: its tasks have work in hand.
    """

    def connect(self) -> Any:
        """Wait for the broker, and then for a Redis that may be used, of this fleet."""
        connection = super().connect()
        while refusal := unusable(services().redis):
            log.error("redis_unusable", error=str(refusal))
            time.sleep(PAUSE)
            maybe_shutdown()
        return connection

    def create_task_handler(self, *args: Any, **options: Any) -> Callable[[Any], None]:
        """Return the handler, which knows our own tasks only and does not decompress messages."""
        channel = self.task_consumer.channel
        if isinstance(channel, Channel):
            channel.Message = UncompressedMessage
        elif isinstance(channel, AmqpChannel):
            channel.Message = UncompressedAmqpMessage
        self._tasks = frozenset(name for name in self.strategies if not name.startswith(OF_CELERY))
        return super().create_task_handler(*args, **options)

    def on_close(self) -> None:
        """Forget the messages of the connection. A worker that was asked to end first gives them back to others."""
        if not (asked_to_end() and self.task_consumer):
            super().on_close()
            return
        try:
            stop_reading(self.task_consumer)
        except self.connection_errors as error:
            log.warning("messages_left_to_broker", error=str(error))  # they come back after the visibility timeout
        give_back(reserved_requests, super().on_close)

    def refuse(self, message: Any, reason: str, problem: str) -> None:
        """Refuse a message, and tell its sender if it submits a job."""
        super().refuse(message, reason, problem)
        if envelope.as_mapping(message.headers).get("task") == routing.SLOTS_SUBMIT:
            tell_refused_message(services(), message, problem)

    def read(self, message: Any) -> None:
        """Reduce the message to what its task needs. Raises MessageRefused."""
        envelope.read(message, self._tasks, wall_clock())
