"""What all viewers see: rows by id, each with the number of its last change. It lives in Flower's loop.

A viewer reads the whole board once, and then the rows that changed after the number that it has. A row that is gone
leaves a tombstone, so that every viewer gets one exact frame whatever number it has. The numbers belong to one `boot`
of the server: a viewer of another boot, or from before a tombstone that was dropped, reads the whole board again.
"""

from __future__ import annotations

import asyncio
import gzip
import time
from contextlib import suppress
from secrets import token_hex
from typing import Any, Final

import orjson

from berthmaster.redis.client import connect_briefly
from berthmaster.redis.identity import Identity
from workers.fleet_pages.fleet_rows import FleetRows
from workers.fleet_pages.reader import Changes, Reader
from workers.settings import WorkerSettings

MOST_ROWS: Final = 50_000
"""Beyond so many rows, tombstones included, the older half of the tombstones is dropped."""
FRESH: Final = 2.0
"""Seconds for which a reading is shown to a new viewer without another one."""
FIRST: Final = 5.0
"""Seconds that a new viewer waits for a reading; then the board is shown as it is."""


class FleetBoard:
    """The rows, and the viewers that wait for changes."""

    def __init__(self, reader: Reader, most_rows: int = MOST_ROWS) -> None:
        self.boot, self.sequence = token_hex(4), 0
        self._rows: dict[str, tuple[int, Any]] = {}  # in the order of their last change
        self._floor = 0  # viewers with a lower number lack a tombstone
        self._read_at = -FRESH
        self._waiters: set[asyncio.Future[None]] = set()
        self._whole: tuple[int, bytes] = (-1, b"")
        self._frames: dict[int, bytes] = {}
        self._reader, self._most_rows = reader, most_rows

    @classmethod
    def of(cls, settings: WorkerSettings) -> FleetBoard:
        """Return the board of a fleet. Its reader starts with the first viewer."""
        redis = connect_briefly(settings.redis, Identity(settings.cluster))
        return cls(Reader(FleetRows(redis).read))

    async def whole(self) -> bytes:
        """Return boot, sequence and all rows as JSON, compressed by gzip."""
        self.watch()
        if time.monotonic() - self._read_at > FRESH:
            await self.changed(FIRST)
        if self._whole[0] != self.sequence:
            rows = {name: value for name, (_, value) in self._rows.items() if value is not None}
            document = orjson.dumps({"boot": self.boot, "seq": self.sequence, "rows": rows})
            self._whole = (self.sequence, gzip.compress(document, compresslevel=1))
        return self._whole[1]

    def since(self, boot: str, sequence: int) -> bytes | None:
        """Return the rows after a number as JSON, null for one that is gone. None: read the whole board again."""
        if boot != self.boot or not self._floor <= sequence <= self.sequence:
            return None
        if sequence not in self._frames:
            rows = {}
            for name, (changed, value) in reversed(self._rows.items()):
                if changed <= sequence:
                    break
                rows[name] = value
            self._frames[sequence] = orjson.dumps({"rows": rows})
        return self._frames[sequence]

    def watch(self) -> None:
        """Keep the reader at work for a while: somebody looks."""
        loop = asyncio.get_running_loop()

        def publish(changes: Changes) -> None:
            with suppress(RuntimeError):  # the loop has ended, and so does the process
                loop.call_soon_threadsafe(self.apply, changes)

        self._reader.want(publish)

    async def changed(self, patience: float) -> bool:
        """Wait for the next reading. False: there was none within `patience` seconds."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await asyncio.wait_for(waiter, patience)
        except TimeoutError:
            return False
        finally:
            self._waiters.discard(waiter)
        return True

    def apply(self, changes: Changes) -> None:
        """Take over what a reading has changed, and wake those who wait. Without a change the number stays."""
        self._read_at = time.monotonic()
        if changes:
            self.sequence += 1
            self._frames.clear()
            for name, value in changes.items():
                self._rows.pop(name, None)
                self._rows[name] = (self.sequence, value)
            self._drop_old_tombstones()
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _drop_old_tombstones(self) -> None:
        if len(self._rows) <= self._most_rows:
            return
        gone = [(name, changed) for name, (changed, value) in self._rows.items() if value is None]
        for name, changed in gone[: len(gone) // 2]:
            del self._rows[name]
            self._floor = changed
