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


class PodToken(NamedTuple):
    """What a pod has. The digest is SHA-256 of a random password: it opens nothing."""

    name: str
    digest: str

    @property
    def text(self) -> str:
        return f"{self.name}:{self.digest}"


def parse_token(text: object) -> PodToken | None:
    """None for what we did not write."""
    if not isinstance(text, str) or not re.fullmatch(f"{NAME}:[0-9a-f]{{64}}", text, re.ASCII):
        return None
    return PodToken(*text.split(":"))


def issue_time(name: str) -> int:
    """When, in seconds; -1 for a name that is not a token's."""
    match = re.fullmatch(NAME, name, re.ASCII)
    return int(match[1]) if match else -1


def newest(names: Iterable[str]) -> str:
    """'' for none."""
    return max((name for name in names if issue_time(name) >= 0), key=lambda name: (issue_time(name), name), default="")


def overdue(names: Iterable[str], after: timedelta, now: datetime) -> bool:
    latest = newest(names)
    return not latest or now.timestamp() - issue_time(latest) >= after.total_seconds()


def new_token_name(names: Iterable[str], now: datetime, nonce: str) -> str:
    """The name of a token that is newer than all others, also by a clock that was set back."""
    return f"token-{max(int(now.timestamp()), issue_time(newest(names)) + 1)}-{nonce}"


def tokens_to_keep(names: Collection[str], in_pods: Collection[str]) -> set[str]:
    """The newest, and what a pod has: its containers may start again. Others have no use any more."""
    return {name for name in names if name in in_pods or name == newest(names)}


def digest(password: str) -> str:
    """As Redis knows it."""
    return hashlib.sha256(password.encode()).hexdigest()


def issue_date(name: str) -> str:
    return datetime.fromtimestamp(max(0, issue_time(name)), UTC).isoformat()
