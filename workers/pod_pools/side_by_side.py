"""Calls side by side, in a bounded number. Each call has its caller's context variables, as log lines need."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextvars import copy_context
from threading import Event
from typing import TypeVar

T = TypeVar("T")


def side_by_side(width: int, calls: Iterable[Callable[[], T]]) -> list[T]:
    """Return the results in the order of the calls, which begin in that order, at most `width` at a time.

    After a call has failed no other begins. Raises the error of the first that failed, once all that began are over.
    """
    failed = Event()

    def run(call: Callable[[], T]) -> T:
        if failed.is_set():
            raise CancelledError
        try:
            return call()
        except BaseException:
            failed.set()
            raise

    with ThreadPoolExecutor(width) as threads:  # which start when they are needed
        return [future.result() for future in [threads.submit(copy_context().run, run, call) for call in calls]]
