"""Lengths of time as people write them in settings: `30`, `1.5`, `30s`, `5m`, `24h`, besides ISO 8601.

A variable of the environment is text, and pydantic alone accepts a bare number of seconds only as a number.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator

WRITTEN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)?")
SECONDS = {"ms": 0.001, None: 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def spelled(value: object) -> object:
    """Return the length of time that a text spells. Any other value is returned unchanged, for the next parser."""
    written = WRITTEN.fullmatch(value.strip()) if isinstance(value, str) else None
    if isinstance(value, str) and not written and not value.startswith("P"):
        raise ValueError("is no length of time: write 90s, 10m or 24h")
    try:
        return timedelta(seconds=float(written[1]) * SECONDS[written[2]]) if written else value
    except OverflowError as error:
        raise ValueError("is longer than a length of time may be") from error


Duration = Annotated[timedelta, BeforeValidator(spelled)]
