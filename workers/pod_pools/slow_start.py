"""Calls of one kind side by side, in batches of 1, 2, 4 and then 8: where the first is refused, no other is made.

As Kubernetes' own controllers create pods. Each call knows what its caller knows by context, as lines of the log do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Final

WIDEST: Final = 8


def slowly(before: Callable[[], None], call: Callable[[str], str], names: Sequence[str]) -> str:
    """What `call` said first, '' where every name was well. `before` is called before each batch."""
    start, width = 0, 1
    with ThreadPoolExecutor(WIDEST) as threads:  # which start when they are needed
        while start < len(names):
            before()
            begun = [threads.submit(copy_context().run, call, name) for name in names[start : start + width]]
            said = [each.result() for each in begun]
            if problem := next(filter(None, said), ""):
                return problem
            start, width = start + width, min(2 * width, WIDEST)
    return ""
