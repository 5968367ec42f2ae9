"""Asking for many things of which some may be gone: AWS refuses a whole batch for one missing member.

So does it for one that is no ARN at all. An answer that is short without a refusal says nothing about what it lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from workers.cloud.errors import Invalid, NotFound, Unavailable

R = TypeVar("R")
MOST: Final = 20  # AWS: names or ARNs in one DescribeLoadBalancers or DescribeTags


def existing(ids: Iterable[str], fetch: Callable[[Sequence[str]], list[R]]) -> Iterator[R]:
    """What `fetch` finds for the ids, in batches. A refused batch is halved until the missing ones stand alone.

    Raises Unavailable for an answer that is short although nothing was refused.
    """
    wanted = list(ids)
    for start in range(0, len(wanted), MOST):
        yield from _present(wanted[start : start + MOST], fetch)


def _present(batch: Sequence[str], fetch: Callable[[Sequence[str]], list[R]]) -> list[R]:
    try:
        found = fetch(batch)
        if len(found) < len(batch):
            raise Unavailable("Describe", "ShortAnswer", f"{len(found)} of {len(batch)} were told of")
        return found
    except (NotFound, Invalid) as error:
        if isinstance(error, Invalid) and error.code != "ValidationError":
            raise
        if len(batch) == 1:
            return []
    half = len(batch) // 2
    return _present(batch[:half], fetch) + _present(batch[half:], fetch)
