"""Asking for many things of which some may be gone: AWS refuses a whole batch for one missing member."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from workers.cloud.errors import NotFound

R = TypeVar("R")
MOST: Final = 20  # AWS: names or ARNs in one DescribeLoadBalancers or DescribeTags


def existing(ids: Iterable[str], fetch: Callable[[Sequence[str]], list[R]]) -> Iterator[R]:
    """What `fetch` finds for the ids, in batches. A refused batch is halved until the missing ones stand alone."""
    wanted = list(ids)
    for start in range(0, len(wanted), MOST):
        yield from _present(wanted[start : start + MOST], fetch)


def _present(batch: Sequence[str], fetch: Callable[[Sequence[str]], list[R]]) -> list[R]:
    try:
        return fetch(batch)
    except NotFound:
        if len(batch) == 1:
            return []
    half = len(batch) // 2
    return _present(batch[:half], fetch) + _present(batch[half:], fetch)
