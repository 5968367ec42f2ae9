"""Answers equal questions of one moment once: Redis is asked by a thread, and once for all viewers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

LASTS: Final = 1.0
"""Seconds for which an answer is given again."""


class DetailAnswers:
    """The answers of the last moment, by question. It lives in Flower's loop."""

    def __init__(self) -> None:
        self._answers: dict[object, tuple[float, asyncio.Future[Any]]] = {}

    async def ask(self, name: object, question: Callable[[], Any]) -> Any:
        """Return the answer to the question of this name, which runs in a thread. Raises what the question raises."""
        now = time.monotonic()
        old = [key for key, (at, answer) in self._answers.items() if answer.done() and now - at > LASTS]
        for key in old:
            del self._answers[key]
        if name not in self._answers:
            self._answers[name] = (now, asyncio.get_running_loop().run_in_executor(None, question))
        return await asyncio.shield(self._answers[name][1])
