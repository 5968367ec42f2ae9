"""Convert the arguments of the queue's scripts, and their replies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

import orjson

from berthmaster import routing, tracing
from events.protocol.refused_names import refuse_name

CHUNK: Final = 500
TO_MS: Final = timedelta(milliseconds=1)


def milliseconds(time: timedelta) -> int:
    """Return the time in milliseconds, rounded up: a wait of less than a millisecond is a wait."""
    return -(-time // TO_MS)


def listed(pools: Sequence[str] | None) -> bytes:
    """Return pools as an argument of a script; None (an empty argument) leaves the recorded pools unchanged."""
    return b"" if pools is None else orjson.dumps(list(pools))


def decoded(keys: Sequence[bytes]) -> list[str]:
    """Return the keys of a reply as text."""
    return [key.decode() for key in keys]


def chunks(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the keys in chunks of CHUNK."""
    return (keys[start : start + CHUNK] for start in range(0, len(keys), CHUNK))


def present_trace() -> str:
    """Return the trace of the open span, '' outside of one, as the scripts take it."""
    return tracing.headers().get(tracing.HEADER, "")


def proper(keys: Sequence[str]) -> list[str]:
    """Return the valid keys, which a reconciler takes; log the others."""
    for key in keys:
        if not routing.is_key(key):
            refuse_name("key", "the workqueue", key)
    return [key for key in keys if routing.is_key(key)]
