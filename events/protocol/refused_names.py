"""Names that others wrote and that no object can have: each is said once, however often the object is seen."""

from __future__ import annotations

from typing import Final

import structlog

log = structlog.get_logger(__name__)
MOST: Final = 10_000
"""Names that this process remembers to have said; then it begins anew."""
SHOWN: Final = 100
_said: set[tuple[str, str, str]] = set()


def refuse_name(what: str, of: str, name: object) -> None:
    """Logs that `name`, which `what` of an object says, is none."""
    entry = (what, of, ascii(name)[:SHOWN])
    if entry in _said:
        return
    if len(_said) >= MOST:
        _said.clear()
    _said.add(entry)
    log.warning("name_refused", what=what, of=of[:SHOWN], name=entry[2])
