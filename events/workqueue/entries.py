"""The values that enter and leave the workqueue, and the stored form of a snapshot in Redis.

A stored snapshot is `<history, 6 digits>.<version, 20 digits><L|G><uid>|<body>`. Scripts compare versions as strings (a
resource version has up to 20 digits, more than a Lua number holds) and read at a fixed place whether the object lives
or is gone. The API's versions may go back; then a new history begins, and only versions of one history are compared.
A snapshot of an earlier release has no history; no publisher of this release continues that history. The body is JSON,
compressed if it is long (`events/workqueue/stored_body.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from enum import Enum
from typing import Any, Final, NamedTuple

import orjson

from events.workqueue.stored_body import read_body, stored_body

STORED: Final = re.compile(rb"(?:(\d{6})\.)?(\d{20})([LG])([^|]*)\|")
LOST: Final = -1
"""The answer to a mark when another epoch was assumed or Redis lost state: check the Lease, assume an epoch again."""


class Mark(NamedTuple):
    """One version of an object, as the publisher received it."""

    key: str
    version: int
    uid: str
    gone: bool
    body: bytes  # JSON

    def text(self) -> bytes:
        """Return the stored form that follows the version."""
        return b"%s%s|%s" % (b"G" if self.gone else b"L", self.uid.encode(), stored_body(self.body))


class Snapshot(NamedTuple):
    """The latest version of an object that the publisher received, reduced to the fields that we use."""

    version: int
    uid: str
    gone: bool
    body: dict[str, Any]
    history: int = 0  # of the stored version; 0 for an object read from the API


class StoredVersion(NamedTuple):
    """The version of a key's snapshot in Redis, without its body."""

    version: int
    uid: str
    gone: bool
    history: int = 0


class LeasedKey(NamedTuple):
    """A key under a lease. No snapshot means that its state is unknown, never that it is gone."""

    key: str
    token: str
    generation: int
    snapshot: Snapshot | None
    tries: int  # as the last `done` left it
    pools: tuple[str, ...]  # in which the key's name may hold ports
    trace: str | None = None  # of who made it ready, if traces are sent


class EndOfRun(NamedTuple):
    """How a run ends; `Workqueue.done` has the same arguments."""

    wait: timedelta | None = None
    tries: int = 0
    written: Snapshot | None = None
    pools: Sequence[str] | None = None


class KeyState(NamedTuple):
    """The state of a key in the queue.

    `ready_ms`: since when it is ready, or None. `due_ms`: when its wait or its lease ends.
    """

    dirty: bool
    held: bool
    ready_ms: int | None
    due_ms: int | None
    now_ms: int
    tries: int
    pools: tuple[str, ...]


class Refusal(Enum):
    """Why no key was taken. In every case nothing is left to do for the message."""

    NOT_READY = "not_ready"  # the publisher has not (yet) completed a list under this Redis process
    HELD = "held"  # another run has the lease; a change since then runs after it
    CLEAN = "clean"  # nothing to do: no key is ready, or the key that was asked for is clean or waits


class Ended(NamedTuple):
    """The answer to the end of a run: was the key still ours, and the drain's next key."""

    accepted: bool
    next: LeasedKey | Refusal


def padded(version: int) -> str:
    """Return a version as stored: 20 digits."""
    return f"{version:020d}"


def padded_history(history: int) -> str:
    """Return a history as stored: 6 digits."""
    return f"{history:06d}"


def stored_version(stored: bytes) -> StoredVersion:
    """Return the version in the stored form of a snapshot. Raises ValueError for any other text."""
    return _parsed(stored)[0]


def snapshot(stored: bytes | None) -> Snapshot | None:
    """Return the snapshot of its stored form, None if nothing is stored. Raises ValueError for any other text."""
    if not stored:
        return None
    of, body = _parsed(stored)
    return Snapshot(of.version, of.uid, of.gone, orjson.loads(read_body(body)), of.history)


def _parsed(stored: bytes) -> tuple[StoredVersion, bytes]:
    match = STORED.match(stored)
    if match is None:
        raise ValueError(f"no snapshot of ours: {stored[:60]!r}")
    history, version, state, uid = match.groups()
    return StoredVersion(int(version), uid.decode(), state == b"G", int(history or 0)), stored[match.end() :]


def as_mark(key: str, written: Snapshot) -> Mark:
    """Return a mark with the snapshot of a run's own write."""
    return Mark(key, written.version, written.uid, written.gone, orjson.dumps(written.body))
