"""Describes many resources of which some may be gone.

AWS refuses a whole batch when one member does not exist or is no ARN. An answer that is short without a refusal says
nothing about the members that it lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from workers.cloud.errors import CloudInvalid, CloudNotFound, CloudUnavailable

R = TypeVar("R")
BATCH: Final = 20
"""AWS's most names or ARNs in one DescribeLoadBalancers or DescribeTags."""


def describe_existing(ids: Iterable[str], describe: Callable[[Sequence[str]], list[R]]) -> Iterator[R]:
    """Describe the ids that exist, in batches. A refused batch is halved until each missing id stands alone.

    Raises CloudUnavailable for an answer that is short although nothing was refused.
    """
    wanted = list(ids)
    for start in range(0, len(wanted), BATCH):
        yield from _describe_batch(wanted[start : start + BATCH], describe)


def _describe_batch(batch: Sequence[str], describe: Callable[[Sequence[str]], list[R]]) -> list[R]:
    try:
        descriptions = describe(batch)
        if len(descriptions) < len(batch):
            reason = f"{len(descriptions)} of {len(batch)} were described"
            raise CloudUnavailable("Describe", "ShortAnswer", reason)
        return descriptions
    except (CloudNotFound, CloudInvalid) as error:
        if isinstance(error, CloudInvalid) and error.code != "ValidationError":
            raise
        if len(batch) == 1:
            return []
    half = len(batch) // 2
    return _describe_batch(batch[:half], describe) + _describe_batch(batch[half:], describe)
