"""One run of a reconciler: its key, its snapshot and its lease.

A run must prove before each effect outside Redis that its lease outlasts the call: only then can no second worker act
on the key meanwhile. The proof costs nothing while the lease is young, because the run knows when the lease ends. It
counts from before the request that granted the lease: a slow reply or a suspended process only makes it more careful.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from datetime import timedelta
from threading import Lock

from berthmaster.errors import StaleToken
from events.workqueue import LeasedKey, Snapshot, Workqueue

CALL_OVERHEAD = timedelta(seconds=1)


class Run:
    """One execution of a reconciler for one key.

    `snapshot` None means unknown, never "deleted". `tries` counts the runs before it that failed in a row. `pools` are
    those that `hold` recorded, `history` is that of the API, as the publisher counts them. `written` is the newest
    version of the object that this run wrote.
    """

    def __init__(
        self,
        queue: Workqueue,
        taken: LeasedKey,
        lease: timedelta,
        started: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._queue, self._taken, self._lease, self._clock = queue, taken, lease, clock
        self._ends = started + lease.total_seconds()
        self.key, self.token, self.snapshot, self.tries = taken.key, taken.token, taken.snapshot, taken.tries
        self.history = taken.snapshot.history if taken.snapshot else 0
        self.pools: tuple[str, ...] = tuple(taken.pools)
        self.written: Snapshot | None = None
        self.released: Sequence[str] | None = None
        self._renewing = Lock()

    def keep(self, at_least: timedelta) -> None:
        """Make sure that the lease lasts `at_least` more. Raises StaleToken when another run has taken the key.

        Threads of one run may call it at a time: one renews, and the end that is known is that of the latest renewal.
        """
        with self._renewing:
            if self._clock() + at_least.total_seconds() >= self._ends:
                self._renew(max(self._lease, at_least + CALL_OVERHEAD), None)

    def hold(self, pools: Sequence[str]) -> None:
        """Record the pools where this name may own ports, before it owns any. [] is recorded when the run ends."""
        if pools:
            self._renew(self._lease, pools)
        self.pools, self.released = tuple(pools), None if pools else ()

    def touch(self, keys: Collection[str]) -> None:
        """Mark the keys dirty that this run concerns."""
        if keys:
            self._queue.touch(sorted(keys))

    def record_write(self, snapshot: Snapshot) -> None:
        """Record the newest version of the object that this run wrote: its echo needs no other run."""
        self.written = snapshot

    def _renew(self, lease: timedelta, pools: Sequence[str] | None) -> None:
        asked = self._clock()
        if not self._queue.renew(self._taken, lease, pools):
            raise StaleToken(f"another run has taken {self.key}")
        self._ends = asked + lease.total_seconds()
