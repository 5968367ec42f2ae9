"""How much of a result is kept: Redis has it for each job, and again in the stream of results."""

from __future__ import annotations

from typing import Final

LONGEST: Final = 10_000


def kept(result: str) -> str:
    """What is too long ends with a mark that says so, within the limit."""
    if len(result) <= LONGEST:
        return result
    mark = f"\n[cut: the result had {len(result)} characters]"
    return result[: LONGEST - len(mark)] + mark
