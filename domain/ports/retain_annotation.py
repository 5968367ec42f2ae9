"""How long a pod's ports wait for the next pod of its name: the annotation `berthmaster.dev/ports-retain`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from domain.kubernetes.names import PORTS_RETAIN
from domain.ports.request import RequestError

LONGEST: Final = timedelta(days=30)
"""Ports that nobody uses are taken from the others, and a pod's author writes the annotation."""
_LENGTH: Final = re.compile(r"([0-9]{1,7})(s|m|h|d)")
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def retention(text: str | None, default: timedelta) -> int:
    """Seconds, 0 for giving back at once. `true` means `default` (a setting). Raises RequestError."""
    word = (text or "false").strip().lower()
    if word in ("true", "false"):
        return int(default.total_seconds()) if word == "true" else 0
    written = _LENGTH.fullmatch(word)
    seconds = int(written[1]) * _UNITS[written[2]] if written else -1
    if not 0 <= seconds <= LONGEST.total_seconds():
        raise RequestError(
            f"{PORTS_RETAIN} {word[:40]!r} is not true, false or a length of time such as 90s, 30m, 24h or 7d,"
            " at most 30d"
        )
    return seconds
