"""How long a worker has held messages that it took and has not settled.

A running event loop proves little: a worker that holds as many messages as it may reads no more, and looks idle if
nothing will ever settle them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


class UnsettledMessages:
    """The unsettled messages of one worker process, observed at each heartbeat. `clock` does not go back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: dict[Any, float] = {}  # delivery tag -> when it was held first

    def oldest(self, channel: Any) -> float:
        """Return for how many seconds the oldest of these messages has been held, 0 for none; forgets all others."""
        now = self._clock()
        self._since = {tag: self._since.get(tag, now) for tag in tags_of(channel)}
        return max((now - since for since in self._since.values()), default=0.0)


def tags_of(channel: Any) -> set[Any]:
    """Return the messages that are neither acknowledged nor rejected, from kombu's Redis transport."""
    qos = getattr(channel, "qos", None)
    return set(getattr(qos, "_delivered", ())) - set(getattr(qos, "_dirty", ()))
