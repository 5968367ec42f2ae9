"""The limit of a stored result: Redis has each result in its job's record, and again in the stream of results."""

from __future__ import annotations

from typing import Final

LONGEST: Final = 10_000


def kept(result: str) -> str:
    """Cut a text that is too long. A mark at the end, within the limit, says so."""
    if len(result) <= LONGEST:
        return result
    mark = f"\n[cut: the result had {len(result)} characters]"
    return result[: LONGEST - len(mark)] + mark
