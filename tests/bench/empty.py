"""A task that does nothing: what Celery itself costs, with our settings."""

from __future__ import annotations

from typing import Final

import orjson
from celery import shared_task

from berthmaster import routing

EMPTY: Final = "bench.empty"


@shared_task(name=EMPTY)
def empty(_key: str) -> None:
    """Takes what `ports.reconcile` takes."""


def empty_message(key: str) -> bytes:
    """A message with that key, to this task."""
    message = orjson.loads(routing.message(routing.PORTS_RECONCILE, key))
    message["headers"]["task"] = EMPTY
    return orjson.dumps(message)
