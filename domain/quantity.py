"""Numbers and lengths of time as people write them."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

UNITS: Final = (("h", timedelta(hours=1)), ("m", timedelta(minutes=1)), ("s", timedelta(seconds=1)))


def quantity(count: int, singular: str, plural: str | None = None) -> str:
    """The number with its noun, `1 job` or `2 jobs`. `plural` None: the singular with an s."""
    return f"{count} {singular if count == 1 else plural or f'{singular}s'}"


def in_units(time: timedelta) -> str:
    """A length of time as specs have it, in the largest unit that fits: `20s`, `90s`, `24h`."""
    sign, size = next(((sign, size) for sign, size in UNITS if not time % size), UNITS[-1])
    return f"{time // size}{sign}"
