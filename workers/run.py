"""One run of a reconciler: what it was given, and its lease.

A run must prove before each effect outside Redis that its lease outlasts the call: only then can no second worker
act on the key meanwhile. The proof costs nothing while the lease is young, because the run remembers when it ends.
It counts from before the request that granted it, so that a slow reply or a suspended process only makes the run
more careful.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from datetime import timedelta

from berthmaster.errors import StaleToken
from events.workqueue import LeasedKey, Snapshot, Workqueue

CALL_OVERHEAD = timedelta(seconds=1)


class Run:
    """`snapshot` None means unknown, never "deleted"; `tries` failed before; `pools` are those that `hold` recorded."""

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
        self.history = taken.snapshot.history if taken.snapshot else 0  # of the API, as the publisher counts them
        self.pools: tuple[str, ...] = tuple(taken.pools)
        self.seen: Snapshot | None = None
        self.released: Sequence[str] | None = None

    def keep(self, at_least: timedelta) -> None:
        """Makes sure that the lease lasts `at_least` more. Raises StaleToken when it was lost."""
        if self._clock() + at_least.total_seconds() >= self._ends:
            self._renew(max(self._lease, at_least + CALL_OVERHEAD), None)

    def hold(self, pools: Sequence[str]) -> None:
        """Records the pools where this name may own ports, before it owns any. [] is recorded when the run ends."""
        if pools:
            self._renew(self._lease, pools)
        self.pools, self.released = tuple(pools), None if pools else ()

    def touch(self, keys: Collection[str]) -> None:
        """Others that what this run did or saw concerns."""
        if keys:
            self._queue.touch(sorted(keys))

    def saw(self, snapshot: Snapshot) -> None:
        """The newest version of the object that this run itself wrote: its echo needs no other run."""
        self.seen = snapshot

    def _renew(self, lease: timedelta, pools: Sequence[str] | None) -> None:
        asked = self._clock()
        if not self._queue.renew(self._taken, lease, pools):
            raise StaleToken(f"another run has taken {self.key}")
        self._ends = asked + lease.total_seconds()
