"""Log names that others wrote and that no object can have: each once, however often the object is read."""

from __future__ import annotations

from typing import Final

import structlog

log = structlog.get_logger(__name__)
MOST: Final = 10_000
"""Logged names that this process remembers; then it forgets all of them."""
SHOWN: Final = 100
_said: set[tuple[str, str, str]] = set()


def refuse_name(what: str, of: str, name: object) -> None:
    """Log that `name`, which `what` of the object `of` has, is invalid."""
    entry = (what, of, ascii(name)[:SHOWN])
    if entry in _said:
        return
    if len(_said) >= MOST:
        _said.clear()
    _said.add(entry)
    log.warning("name_refused", what=what, of=of[:SHOWN], name=entry[2])
