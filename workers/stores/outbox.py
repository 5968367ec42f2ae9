"""What a ledger has recorded for the event stream: waits that began, and decisions about jobs.

The script that makes the change appends an entry to a stream of the ledger in the same step. A worker writes its event,
then deletes the entry, so that a death in between repeats an event and loses none (Rule outbox).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from redis import Redis

PAGE: Final = 1000
LATEST: Final = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


@dataclass(frozen=True)
class OutboxEntry:
    """An entry. Anything may be missing in `fields`."""

    id: str
    fields: Mapping[str, str]

    @property
    def at(self) -> datetime:
        """When it was recorded, by the clock of Redis; the latest time of all for an id that is none."""
        seconds = int(self.id.partition("-")[0]) / 1000
        return datetime.fromtimestamp(min(seconds, LATEST), UTC)


class Outbox:
    """The outbox of the ledger whose keys begin with `prefix`."""

    def __init__(self, redis: Redis, prefix: str) -> None:
        self._redis, self._key = redis, f"{prefix}outbox"

    def read(self, only: str | None = None) -> list[OutboxEntry]:
        """Return the oldest entries, or the one with the id `only` if it is there."""
        first, last = (only, only) if only else ("-", "+")
        stored: Any = self._redis.xrange(self._key, first, last, count=PAGE)
        return [_entry(place, fields) for place, fields in stored]

    def delete(self, entries: Sequence[OutboxEntry]) -> None:
        """Delete entries whose events are written."""
        self._redis.xdel(self._key, *(entry.id for entry in entries))


def _entry(place: bytes, stored: Mapping[bytes, bytes]) -> OutboxEntry:
    fields = {name.decode(errors="replace"): value.decode(errors="replace") for name, value in stored.items()}
    return OutboxEntry(place.decode(), fields)
