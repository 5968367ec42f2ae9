"""The consumer of our workers, apart from the one that runners import without a worker's imports."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import structlog
from celery.worker.state import maybe_shutdown
from kombu.transport.virtual import Channel

from berthmaster.celery import envelope
from berthmaster.celery.consumer import TolerantConsumer
from berthmaster.celery.envelope import UncompressedMessage
from berthmaster.clock import wall_clock
from berthmaster.redis.client import other_fleet
from workers.wiring.process import services

log = structlog.get_logger()
PAUSE = 2.0  # seconds between two looks at a Redis that belongs to another fleet
OF_CELERY = "celery."
"""The prefix of the tasks that Celery itself brings for canvases."""


class OwnConsumer(TolerantConsumer):
    """The consumer of our workers: gives Celery only well-formed messages of our own tasks.

    While its Redis belongs to another fleet it takes no message, and does not end either: its tasks have work in hand.
    """

    def connect(self) -> Any:
        """Wait for the broker, and then for a Redis that belongs to this fleet."""
        connection = super().connect()
        while refusal := other_fleet(services().redis):
            log.error("redis_of_another_fleet", error=str(refusal))
            time.sleep(PAUSE)
            maybe_shutdown()
        return connection

    def create_task_handler(self, *args: Any, **options: Any) -> Callable[[Any], None]:
        """Return the handler, which knows our own tasks only and does not decompress messages."""
        channel = self.task_consumer.channel
        if isinstance(channel, Channel):
            channel.Message = UncompressedMessage
        self._tasks = frozenset(name for name in self.strategies if not name.startswith(OF_CELERY))
        return super().create_task_handler(*args, **options)

    def read(self, message: Any) -> None:
        """Reduce the message to what its task needs. Raises MessageRefused."""
        envelope.read(message, self._tasks, wall_clock())
