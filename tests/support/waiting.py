"""Waiting for a state of the world, instead of sleeping."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(check: Callable[[], T], timeout: float = 30.0, every: float = 0.02) -> T:
    """Returns check()'s first truthy value.

    AssertionErrors count as "not yet", as do missing keys and items; the last one is raised after `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    while True:
        error: AssertionError | LookupError | None = None
        try:
            if value := check():
                return value
        except (AssertionError, LookupError) as raised:
            error = raised
        if time.monotonic() > deadline:
            raise error or AssertionError(f"not true within {timeout} s: {getattr(check, '__name__', check)}")
        time.sleep(every)
