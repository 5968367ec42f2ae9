"""Answers of AWS that all callers of a process share: one call, however many ask at the same time.

They are for what belongs to the whole account, and each pool would otherwise ask for again: the account's limits, and
the lists of all load balancers and target groups.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, TypeVar

T = TypeVar("T")
FRESH = timedelta(0)
WAIT: Final = timedelta(seconds=1)
"""How long a caller waits for the call of another before it keeps its lease again."""


@dataclass
class SharedAnswer:
    """`asked` is a time of the clock; the thread that asks holds `mutex`."""

    value: Any = None
    asked: float = float("-inf")
    mutex: threading.Lock = field(default_factory=threading.Lock)


class SharedAnswers:
    """Safe to share by threads. A failed question is not stored: each caller that waited for it asks again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock, self._answers = clock, threading.Lock(), dict[str, SharedAnswer]()

    def get(
        self,
        question: str,
        ask: Callable[[], T],
        max_age: timedelta = FRESH,
        keep: Callable[[timedelta], None] = lambda _: None,
    ) -> T:
        """An answer to a call that began at most `max_age` before now.

        FRESH: the call began after `get` did, so that the answer contains everything that the caller did or read
        before. Callers that arrive during a call share the next answer. They call `keep` while they wait: a long list
        takes longer than a lease.
        """
        oldest = self._clock() - max_age.total_seconds()
        with self._lock:
            answer = self._answers.setdefault(question, SharedAnswer())
        with held(answer.mutex, keep):
            if answer.asked < oldest:
                asked = self._clock()
                answer.value = ask()
                answer.asked = asked
            value: T = answer.value
            return value


@contextmanager
def held(mutex: threading.Lock, keep: Callable[[timedelta], None]) -> Iterator[None]:
    """Hold the mutex. `keep` is called before each WAIT for it, and what it raises ends the wait."""
    taken = mutex.acquire(blocking=False)
    while not taken:
        keep(WAIT)
        taken = mutex.acquire(timeout=WAIT.total_seconds())
    try:
        yield
    finally:
        mutex.release()
