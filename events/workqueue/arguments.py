"""How the arguments of the queue's scripts are written, and their replies read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

import orjson

CHUNK: Final = 500
TO_MS: Final = timedelta(milliseconds=1)


def milliseconds(time: timedelta) -> int:
    """Rounded up: a wait of less than a millisecond is a wait."""
    return -(-time // TO_MS)


def listed(pools: Sequence[str] | None) -> bytes:
    """Pools as an argument of a script; empty leaves the recorded pools as they are."""
    return b"" if pools is None else orjson.dumps(list(pools))


def decoded(keys: Sequence[bytes]) -> list[str]:
    return [key.decode() for key in keys]


def chunks(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    return (keys[start : start + CHUNK] for start in range(0, len(keys), CHUNK))
