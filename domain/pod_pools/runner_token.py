"""The tokens of a pool's runners: which one new pods get, when it is rotated, and which ones must stay valid. Pure.

A token's name contains its time. A pod has an annotation with the name of its token and the digest by which Redis knows
it. So the token stays valid while the pod exists, even if the Secret or Redis is lost.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

NAME: Final = r"token-(\d{1,11})-[0-9a-f]{8}"


class PodToken(NamedTuple):
    """The token of a pod. Its digest is the SHA-256 of a random password, and no secret."""

    name: str
    digest: str

    @property
    def text(self) -> str:
        """The value of the annotation."""
        return f"{self.name}:{self.digest}"


def parse_token(text: object) -> PodToken | None:
    """Read the annotation of a pod. None for a text that we did not write."""
    if not isinstance(text, str) or not re.fullmatch(f"{NAME}:[0-9a-f]{{64}}", text, re.ASCII):
        return None
    return PodToken(*text.split(":"))


def issue_time(name: str) -> int:
    """The Unix time in a token's name, -1 for any other name."""
    match = re.fullmatch(NAME, name, re.ASCII)
    return int(match[1]) if match else -1


def newest(names: Iterable[str]) -> str:
    """The name of the newest token, '' for none."""
    return max((name for name in names if issue_time(name) >= 0), key=lambda name: (issue_time(name), name), default="")


def overdue(names: Iterable[str], after: timedelta, now: datetime) -> bool:
    """Tell whether the newest token is older than `after`, or there is none."""
    latest = newest(names)
    return not latest or now.timestamp() - issue_time(latest) >= after.total_seconds()


def new_token_name(names: Iterable[str], now: datetime, nonce: str) -> str:
    """Name a token that is newer than all others, even if the clock was set back."""
    return f"token-{max(int(now.timestamp()), issue_time(newest(names)) + 1)}-{nonce}"


def tokens_to_keep(names: Collection[str], in_pods: Collection[str]) -> set[str]:
    """The newest token, and those of pods, whose containers may start again."""
    return {name for name in names if name in in_pods or name == newest(names)}


def digest(password: str) -> str:
    """The digest by which Redis knows a password."""
    return hashlib.sha256(password.encode()).hexdigest()


def issue_date(name: str) -> str:
    """The time in a token's name, for people."""
    return datetime.fromtimestamp(max(0, issue_time(name)), UTC).isoformat()
