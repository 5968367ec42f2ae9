"""What the pages read of the fleet: Redis, and nothing else. Explanations that ask for a pod get its snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import orjson

from berthmaster import routing
from berthmaster.events import STREAM_FIELD
from berthmaster.jobs.scripts import load_scripts as load_slot_scripts
from berthmaster.jobs.slot_ledger import SlotLedger
from domain.ports.pod import PodView
from events.workqueue import Snapshot, Workqueue
from workers.stores.pool_names import PodPoolNames, PoolNames
from workers.stores.ports.last_errors import Troubles
from workers.stores.ports.ledger import Ledger, load_scripts

SEARCHED: Final = 2000
"""How many of the latest events are searched for those of one object."""


class SnapshotPods:
    """Reads pods from the snapshots that the publisher has stored."""

    def __init__(self, queue: Workqueue) -> None:
        self._queue = queue

    def read(self, namespace: str, name: str) -> PodView | None:
        """Return the pod as the publisher saw it last. None: it is gone, or asks for no ports."""
        snapshot = self._queue.snapshot(routing.pod_key(namespace, name))
        return PodView.from_snapshot(snapshot.version, snapshot.body) if snapshot and not snapshot.gone else None


@dataclass(frozen=True)
class FleetReaders:
    """The readers. `redis` is a client of the state; `default_spec`: what an empty annotation for ports asks for."""

    redis: Any
    default_spec: str = ""

    @cached_property
    def queue(self) -> Workqueue:
        """The workqueue, to read."""
        return Workqueue(self.redis, publish=lambda _: None)

    @cached_property
    def pods(self) -> SnapshotPods:
        """The reader of pods."""
        return SnapshotPods(self.queue)

    @cached_property
    def troubles(self) -> Troubles:
        """The last errors of AWS."""
        return Troubles(self.redis)

    @property
    def port_pools(self) -> list[str]:
        """The names of port pools."""
        return PoolNames(self.redis).all()

    @property
    def pod_pools(self) -> list[str]:
        """The names of pod pools, as namespace/name."""
        return PodPoolNames(self.redis).all()

    @cached_property
    def _scripts(self) -> tuple[Any, Any]:
        return load_scripts(self.redis), load_slot_scripts(self.redis)

    @property
    def ledger(self) -> Any:
        """Return the ledger of a port pool."""
        return lambda pool: Ledger(self.redis, self._scripts[0], pool)

    def slots(self, pool: str) -> SlotLedger:
        """Return the slot ledger of a pod pool."""
        return SlotLedger(self.redis, self._scripts[1], pool)

    def snapshot(self, key: str) -> Snapshot | None:
        """Return the snapshot of an object that is there, None for one that is not."""
        snapshot = self.queue.snapshot(key)
        return snapshot if snapshot and not snapshot.gone else None

    def events(self, count: int) -> Iterator[dict[str, Any]]:
        """Yield the latest events, the newest first."""
        entries: Any = self.redis.xrevrange(routing.EVENTS_STREAM, count=count)
        for _, fields in entries:
            yield orjson.loads(fields[STREAM_FIELD.encode()])

    def history(self, key: str) -> list[dict[str, Any]]:
        """Return those of the latest events that are about a key."""
        return [event for event in self.events(SEARCHED) if event.get("subject") == key]
