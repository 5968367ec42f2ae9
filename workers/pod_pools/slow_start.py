"""Calls of one kind side by side, in batches of 1, 2, 4 and then 8. After a batch with a refusal none follows.

Kubernetes' own controllers create pods in this way. Each call has its caller's context variables, as log lines need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Final

WIDEST: Final = 8


def slowly(before: Callable[[], None], call: Callable[[str], str], names: Sequence[str]) -> str:
    """Call for each name, and return the first problem, '' for none. `before` is called before each batch."""
    start, width = 0, 1
    with ThreadPoolExecutor(WIDEST) as threads:  # which start when they are needed
        while start < len(names):
            before()
            batch = [threads.submit(copy_context().run, call, name) for name in names[start : start + width]]
            problems = [future.result() for future in batch]
            if problem := next(filter(None, problems), ""):
                return problem
            start, width = start + width, min(2 * width, WIDEST)
    return ""
