"""The tokens of a pool's runners: which one new pods get, when it is replaced, and which ones must stay good. Pure.

A token's name says when it was made. A pod says on itself which token it has, and the digest by which Redis knows that
token, so that its password stays good while it lives, whatever is lost elsewhere.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

NAME: Final = r"token-(\d{1,11})-[0-9a-f]{8}"


class Carried(NamedTuple):
    """What a pod has. The digest is SHA-256 of a random password: it opens nothing."""

    name: str
    digest: str

    @property
    def text(self) -> str:
        return f"{self.name}:{self.digest}"


def carried(text: object) -> Carried | None:
    """None for what we did not write."""
    if not isinstance(text, str) or not re.fullmatch(f"{NAME}:[0-9a-f]{{64}}", text, re.ASCII):
        return None
    return Carried(*text.split(":"))


def made(name: str) -> int:
    """When, in seconds; -1 for a name that is not a token's."""
    found = re.fullmatch(NAME, name, re.ASCII)
    return int(found[1]) if found else -1


def newest(names: Iterable[str]) -> str:
    """'' for none."""
    return max((name for name in names if made(name) >= 0), key=lambda name: (made(name), name), default="")


def overdue(names: Iterable[str], after: timedelta, now: datetime) -> bool:
    latest = newest(names)
    return not latest or now.timestamp() - made(latest) >= after.total_seconds()


def fresh(names: Iterable[str], now: datetime, nonce: str) -> str:
    """The name of a token that is newer than all others, also by a clock that was set back."""
    return f"token-{max(int(now.timestamp()), made(newest(names)) + 1)}-{nonce}"


def kept(names: Collection[str], in_pods: Collection[str]) -> set[str]:
    """The newest, and what a pod has: its containers may start again. Others have no use any more."""
    return {name for name in names if name in in_pods or name == newest(names)}


def digest(password: str) -> str:
    """As Redis knows it."""
    return hashlib.sha256(password.encode()).hexdigest()


def when(name: str) -> str:
    return datetime.fromtimestamp(max(0, made(name)), UTC).isoformat()
