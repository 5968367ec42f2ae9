"""How long a pod's ports wait for the next pod of its name: the annotation `berthmaster.dev/ports-retain`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from domain.kubernetes.names import PORTS_RETAIN
from domain.ports.request import RequestError

MAX_RETENTION: Final = timedelta(days=30)
"""A bound, because a pod's author writes the annotation and other pods cannot use retained ports."""
_LENGTH: Final = re.compile(r"([0-9]{1,7})(s|m|h|d)")
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def parse_retention(text: str | None, default: timedelta) -> int:
    """Seconds; 0 releases at once. `true` means `default` (a setting). Raises RequestError."""
    word = (text or "false").strip().lower()
    if word in ("true", "false"):
        return int(default.total_seconds()) if word == "true" else 0
    match = _LENGTH.fullmatch(word)
    seconds = int(match[1]) * _UNITS[match[2]] if match else -1
    if not 0 <= seconds <= MAX_RETENTION.total_seconds():
        raise RequestError(
            f"{PORTS_RETAIN} {word[:40]!r} is not true, false or a length of time such as 90s, 30m, 24h or 7d,"
            " at most 30d"
        )
    return seconds
