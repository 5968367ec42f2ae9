"""Answers of AWS that all callers of a process share: asked for once, however many want them at the same time.

For what belongs to the whole account, which each pool would else ask for itself: its limits, and the lists of all load
balancers and target groups.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

T = TypeVar("T")
FRESH = timedelta(0)


@dataclass
class Answer:
    """`asked` is a time of the clock; `turn` is held by the thread that asks."""

    value: Any = None
    asked: float = float("-inf")
    turn: threading.Lock = field(default_factory=threading.Lock)


class Answers:
    """Safe to share by threads. A failed question is not remembered: who waited for it asks for itself."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock, self._kept = clock, threading.Lock(), dict[str, Answer]()

    def get(self, question: str, ask: Callable[[], T], keep: timedelta = FRESH) -> T:
        """An answer whose asking began at most `keep` before now.

        FRESH: after this call began, so that it knows of everything that the caller has done, or has read elsewhere,
        before. Those who come while somebody asks share the next answer.
        """
        oldest = self._clock() - keep.total_seconds()
        with self._lock:
            answer = self._kept.setdefault(question, Answer())
        with answer.turn:
            if answer.asked < oldest:
                asked = self._clock()
                answer.value = ask()
                answer.asked = asked
            value: T = answer.value
            return value
