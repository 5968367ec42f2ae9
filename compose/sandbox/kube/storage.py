"""The objects, their versions and the recent changes, as etcd keeps them for the real API.

One counter numbers every change of every kind. A bounded history of each kind lets a watch resume and a paged list go
on at its own version. A version older than the history gets 410, as after a compaction. A stored body never changes,
so readers need no copies. Everything runs on one event loop, and no write awaits.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from compose.sandbox.kube.kinds import KindKey
from compose.sandbox.kube.refusal import expired

Json = dict[str, Any]
Name = tuple[str, str]
"""Namespace ('' for cluster-wide kinds) and name. Names sort as the API sorts lists."""


class StoredObject:
    """One version of one object, with its JSON."""

    __slots__ = ("body", "data", "version")

    def __init__(self, body: Json, version: int) -> None:
        self.version = version
        self.body = {**body, "metadata": {**body["metadata"], "resourceVersion": str(version)}}
        self.data = orjson.dumps(self.body)

    @property
    def metadata(self) -> Json:
        """The `metadata` of the object."""
        metadata: Json = self.body["metadata"]
        return metadata

    @property
    def name(self) -> Name:
        """Namespace and name of the object."""
        return (self.metadata.get("namespace", ""), self.metadata["name"])


@dataclass(frozen=True, slots=True)
class StoredChange:
    """A change of an object. `before` None: created. `after` None: deleted.

    `last`: the last body of a deleted object, at the version of the deletion.
    """

    version: int
    before: StoredObject | None
    after: StoredObject | None
    last: StoredObject | None = None


Listener = Callable[[KindKey, StoredChange], None]


class Store:
    """The objects of all kinds, their version counter, and the history of each kind."""

    def __init__(self, history: int = 5000) -> None:
        """`history`: changes of each kind that a watch can resume from. Each change keeps an object in memory."""
        self.history, self.version = history, 1
        self.items: dict[KindKey, dict[Name, StoredObject]] = defaultdict(dict)
        self.order: dict[KindKey, list[Name]] = defaultdict(list)
        self.changes: dict[KindKey, list[StoredChange]] = defaultdict(list)
        self.floor: dict[KindKey, int] = defaultdict(int)
        self.compacted = 0
        self.signals: dict[KindKey, asyncio.Event] = defaultdict(asyncio.Event)
        self.listeners: list[Listener] = []

    def get(self, key: KindKey, name: Name) -> StoredObject | None:
        """Return an object, or None."""
        return self.items[key].get(name)

    def all(self, key: KindKey) -> Iterator[StoredObject]:
        """Return the objects of a kind, in order of namespace and name."""
        items = self.items[key]
        return (items[name] for name in self.order[key])

    def put(self, key: KindKey, body: Json) -> StoredObject:
        """Create or replace an object, at a new version."""
        self.version += 1
        item = StoredObject(body, self.version)
        before = self.items[key].get(item.name)
        if before is None:
            insort(self.order[key], item.name)
        self.items[key][item.name] = item
        self.record(key, StoredChange(self.version, before, item))
        return item

    def remove(self, key: KindKey, name: Name) -> StoredObject:
        """Remove an object. Returns its last body at the version of the deletion. Raises KeyError."""
        self.version += 1
        before = self.items[key].pop(name)
        del self.order[key][bisect_left(self.order[key], name)]
        last = StoredObject(before.body, self.version)
        self.record(key, StoredChange(self.version, before, None, last))
        return last

    def record(self, key: KindKey, change: StoredChange) -> None:
        """Add a change to the history of its kind, wake the watches, and call the listeners."""
        changes = self.changes[key]
        changes.append(change)
        if len(changes) >= 2 * self.history:
            self.floor[key] = changes[-self.history - 1].version
            del changes[: -self.history]
        self.wake(key)
        for listener in self.listeners:
            listener(key, change)

    def wake(self, key: KindKey) -> None:
        """Wake the watches of a kind."""
        self.signals.pop(key, asyncio.Event()).set()

    def wake_all(self) -> None:
        """Wake all watches."""
        for key in list(self.signals):
            self.wake(key)

    def compact(self) -> None:
        """Forget every change before now."""
        self.compacted = self.version
        self.changes.clear()
        self.wake_all()

    def since(self, key: KindKey, version: int) -> list[StoredChange]:
        """Return the changes after `version`. Raises 410 if the history lacks one of them."""
        if version < max(self.floor[key], self.compacted):
            raise expired()
        changes = self.changes[key]
        return changes[bisect_right(changes, version, key=lambda change: change.version) :]

    def at(self, key: KindKey, version: int) -> list[StoredObject]:
        """Return the objects of a kind as of `version`, in order. Raises 410 if the history is too short."""
        changes, items = self.since(key, version), dict(self.items[key])
        if not changes:
            return list(self.all(key))
        for change in reversed(changes):
            item = change.after or change.last
            assert item is not None
            if change.before is None:
                del items[item.name]
            else:
                items[item.name] = change.before
        return [items[name] for name in sorted(items)]
