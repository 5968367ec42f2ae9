"""What Kubernetes accepts as a label, and times as Berthmaster writes them in annotations."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from berthmaster.forms import form
from berthmaster.names import SUBDOMAIN

KEY: Final = f"^({SUBDOMAIN}/)?[A-Za-z0-9]([A-Za-z0-9._-]{{0,61}}[A-Za-z0-9])?$"
LONGEST_PREFIX: Final = "^([^/]{1,253}/)?[^/]+$"
VALUE: Final = form(
    "^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$",
    "a label's value: at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends, or none",
)
"""Regular expressions: KEY for a label's key, LONGEST_PREFIX for the length of the key's prefix, VALUE for a value."""


def moment(text: str) -> datetime | None:
    """Parse a time with a zone from an annotation; None for anything else, because anybody may write annotations."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else None


def stamp(time: datetime) -> str:
    """Write a time, to the second."""
    return time.isoformat(timespec="seconds")


def proper_key(key: str) -> bool:
    """Whether Kubernetes accepts the key of a label."""
    return bool(re.match(KEY, key) and re.match(LONGEST_PREFIX, key) and not key.endswith("\n"))


def proper_value(value: object) -> bool:
    """Whether Kubernetes accepts the value of a label."""
    return isinstance(value, str) and bool(re.match(VALUE, value)) and not value.endswith("\n")
