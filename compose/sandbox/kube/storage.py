"""The objects, their versions and the recent changes: what etcd is to the real API.

One counter numbers every change of every kind. A bounded history of each kind lets a watch resume and a paged list go
on at its own version; what falls out of it is answered 410, as after a compaction. Bodies are never changed once they
are stored, so that readers need no copies. Everything runs on one event loop; nothing here awaits while it writes.
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
"""Namespace ('' for cluster-wide kinds) and name; sorted as the API sorts lists."""


class StoredObject:
    """One version of one object, with its JSON."""

    __slots__ = ("body", "data", "version")

    def __init__(self, body: Json, version: int) -> None:
        self.version = version
        self.body = {**body, "metadata": {**body["metadata"], "resourceVersion": str(version)}}
        self.data = orjson.dumps(self.body)

    @property
    def metadata(self) -> Json:
        metadata: Json = self.body["metadata"]
        return metadata

    @property
    def name(self) -> Name:
        return (self.metadata.get("namespace", ""), self.metadata["name"])


@dataclass(frozen=True, slots=True)
class StoredChange:
    """`before` None: created. `after` None: deleted; then `last` is the last body, at the version of the deletion."""

    version: int
    before: StoredObject | None
    after: StoredObject | None
    last: StoredObject | None = None


Listener = Callable[[KindKey, StoredChange], None]


class Store:
    def __init__(self, history: int = 5000) -> None:
        """`history`: changes a kind that can be watched from; more need more memory (an object each)."""
        self.history, self.version = history, 1
        self.items: dict[KindKey, dict[Name, StoredObject]] = defaultdict(dict)
        self.order: dict[KindKey, list[Name]] = defaultdict(list)
        self.changes: dict[KindKey, list[StoredChange]] = defaultdict(list)
        self.floor: dict[KindKey, int] = defaultdict(int)
        self.compacted = 0
        self.signals: dict[KindKey, asyncio.Event] = defaultdict(asyncio.Event)
        self.listeners: list[Listener] = []

    def get(self, key: KindKey, name: Name) -> StoredObject | None:
        return self.items[key].get(name)

    def all(self, key: KindKey) -> Iterator[StoredObject]:
        """In order of namespace and name."""
        items = self.items[key]
        return (items[name] for name in self.order[key])

    def put(self, key: KindKey, body: Json) -> StoredObject:
        self.version += 1
        item = StoredObject(body, self.version)
        before = self.items[key].get(item.name)
        if before is None:
            insort(self.order[key], item.name)
        self.items[key][item.name] = item
        self.record(key, StoredChange(self.version, before, item))
        return item

    def remove(self, key: KindKey, name: Name) -> StoredObject:
        """Returns the last body at the version of the deletion."""
        self.version += 1
        before = self.items[key].pop(name)
        del self.order[key][bisect_left(self.order[key], name)]
        last = StoredObject(before.body, self.version)
        self.record(key, StoredChange(self.version, before, None, last))
        return last

    def record(self, key: KindKey, change: StoredChange) -> None:
        changes = self.changes[key]
        changes.append(change)
        if len(changes) >= 2 * self.history:
            self.floor[key] = changes[-self.history - 1].version
            del changes[: -self.history]
        self.wake(key)
        for listener in self.listeners:
            listener(key, change)

    def wake(self, key: KindKey) -> None:
        self.signals.pop(key, asyncio.Event()).set()

    def wake_all(self) -> None:
        for key in list(self.signals):
            self.wake(key)

    def compact(self) -> None:
        """Forgets every change before now."""
        self.compacted = self.version
        self.changes.clear()
        self.wake_all()

    def since(self, key: KindKey, version: int) -> list[StoredChange]:
        """Changes after `version`. Raises 410 when they are no longer all known."""
        if version < max(self.floor[key], self.compacted):
            raise expired()
        changes = self.changes[key]
        return changes[bisect_right(changes, version, key=lambda change: change.version) :]

    def at(self, key: KindKey, version: int) -> list[StoredObject]:
        """All objects as they were then, in order. Raises 410 when that is no longer known."""
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
