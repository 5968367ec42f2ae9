"""Keys with a due time, for the next free thread. No two threads have the same key."""

from __future__ import annotations

import heapq
import time
from threading import Condition

Key = tuple[str, str]


class Timers:
    """Keys and their due times, shared by several threads."""

    def __init__(self) -> None:
        self.changed = Condition()
        self.heap: list[tuple[float, Key]] = []
        self.due: dict[Key, float] = {}
        self.busy: set[Key] = set()
        self.closed = False

    def at(self, key: Key, seconds: float = 0.0) -> None:
        """Schedule a key. The earliest time counts."""
        due = time.monotonic() + seconds
        with self.changed:
            if due < self.due.get(key, float("inf")):
                self.due[key] = due
                heapq.heappush(self.heap, (due, key))
                self.changed.notify()

    def take(self) -> Key | None:
        """Wait for a due key and return it, or None when closed. The caller must call `done`."""
        with self.changed:
            while not self.closed:
                if key := self.ready():
                    self.busy.add(key)
                    return key
                self.changed.wait(self.heap[0][0] - time.monotonic() if self.heap else None)
        return None

    def ready(self) -> Key | None:
        """Return a due key that no thread has, or None. The caller holds the lock."""
        while self.heap and self.heap[0][0] <= time.monotonic():
            due, key = heapq.heappop(self.heap)
            if self.due.get(key) != due:
                continue  # a later call of `at` replaced this entry
            if key in self.busy:
                heapq.heappush(self.heap, (due + 0.02, key))
                self.due[key] = due + 0.02
                return None
            del self.due[key]
            return key
        return None

    def done(self, key: Key) -> None:
        """Release a key that `take` returned."""
        with self.changed:
            self.busy.discard(key)

    def close(self) -> None:
        """End all calls of `take`, now and later."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()
