"""Answers of AWS that a process keeps for a while, asked for once however many threads want them.

For what belongs to the whole account, such as its limits: each pool would ask for the same thing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass
class Answer:
    """`until` is a time of the clock; `turn` is held by the thread that asks."""

    value: Any = None
    until: float = float("-inf")
    turn: threading.Lock = field(default_factory=threading.Lock)


class Answers:
    """Safe to share by threads. A failed question is not remembered: who waited for it asks for itself."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock, self._kept = clock, threading.Lock(), dict[str, Answer]()

    def get(self, question: str, keep: timedelta, ask: Callable[[], T]) -> T:
        """The answer of at most `keep` ago. It is as old as the start of the call that asked for it."""
        with self._lock:
            answer = self._kept.setdefault(question, Answer())
        with answer.turn:
            if self._clock() >= answer.until:
                asked = self._clock()
                answer.value = ask()
                answer.until = asked + keep.total_seconds()
            value: T = answer.value
            return value

    def forget(self, question: str) -> None:
        """The next one asks again; one who is asking now may have asked too early, and keeps nothing."""
        with self._lock:
            self._kept.pop(question, None)
