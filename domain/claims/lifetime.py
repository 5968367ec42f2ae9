"""When a claim expires, and how its owner renews it.

The owner renews a claim by a new text in an annotation. What the text says does not matter, so that no clock of the
owner does: a worker records the text with the time of the API server's clock at which it first saw it. A renewal is
seen late at worst, and then the claim expires later.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

LONGEST_RENEWAL: Final = 253
"""Characters of a renewal that count."""
LAST: Final = datetime.max.replace(microsecond=0, tzinfo=UTC)
"""No claim expires later: whoever may write a status may write any time of a renewal."""
AHEAD: Final = timedelta(seconds=5)
"""Two workers' estimates of the API server's clock differ by less."""


@dataclass(frozen=True)
class Renewal:
    """A text of the owner, and when a worker first saw it."""

    text: str | None
    time: datetime


@dataclass(frozen=True)
class Lifetime:
    """How long a claim lives.

    Attributes:
        created: when the claim was created.
        ttl: how long it lives without a renewal, None for a claim that never expires.
        text: the renewal that the claim shows now, None if it was never renewed.
        recorded: the last renewal that a worker recorded, None if there is none.

    """

    created: datetime
    ttl: timedelta | None = None
    text: str | None = None
    recorded: Renewal | None = None

    @property
    def expiry(self) -> datetime | None:
        """When the claim expires unless it is renewed; None if it never does."""
        begin = self.recorded.time if self.recorded else self.created
        if self.ttl is None:
            return None
        try:
            return begin + self.ttl
        except OverflowError:
            return LAST

    def renewed(self, now: datetime) -> bool:
        """Tell whether the renewal must be recorded: it is new, or the server's clock has gone back since the last."""
        if self.ttl is None:
            return False
        new = self.text is not None and self.text != (self.recorded.text if self.recorded else None)
        return new or (self.recorded.time if self.recorded else self.created) > now + AHEAD

    def expired(self, now: datetime) -> bool:
        """Tell whether the claim's time has passed."""
        return self.expiry is not None and now >= self.expiry
