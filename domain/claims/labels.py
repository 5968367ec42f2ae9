"""What Kubernetes takes as a label, and times as we write them in annotations."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from berthmaster.names import SUBDOMAIN

KEY: Final = f"^({SUBDOMAIN}/)?[A-Za-z0-9]([A-Za-z0-9._-]{{0,61}}[A-Za-z0-9])?$"
LONGEST_PREFIX: Final = "^([^/]{1,253}/)?[^/]+$"
VALUE: Final = "^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$"
"""The key of a label, and its value, as expressions."""


def moment(text: str) -> datetime | None:
    """A time of a known zone, as we write it in annotations; others may have: None for what is none."""
    try:
        told = datetime.fromisoformat(text)
    except ValueError:
        return None
    return told if told.tzinfo else None


def proper_key(key: str) -> bool:
    return bool(re.match(KEY, key) and re.match(LONGEST_PREFIX, key) and not key.endswith("\n"))


def proper_value(value: object) -> bool:
    return isinstance(value, str) and bool(re.match(VALUE, value)) and not value.endswith("\n")
