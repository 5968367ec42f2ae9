"""The controllers of the API: garbage collection, deletion of namespaces, and registration of new kinds."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from compose.sandbox.kube.built_in import PERMANENT_NAMESPACES
from compose.sandbox.kube.custom import kinds_of
from compose.sandbox.kube.kinds import DEFINITIONS, NAMESPACES, KindKey, Kinds
from compose.sandbox.kube.refusal import ApiRefusal
from compose.sandbox.kube.storage import Name, Store, StoredChange, StoredObject
from compose.sandbox.kube.writes import How, Writes

Json = dict[str, Any]
SOON: Final = 0.05
"""Seconds until a controller acts. The real controllers take 0.3 (garbage) to 5 (namespaces)."""
OWNERLESS: Final = 1.0
"""Seconds that the owner of a new object may be missing."""


class Collector:
    """The controllers. They follow all changes of the store, and act a little later, never within a write."""

    def __init__(self, store: Store, kinds: Kinds, writes: Writes) -> None:
        self.store, self.kinds, self.writes = store, kinds, writes
        self.live: set[str] = set()
        self.finishing: set[tuple[KindKey, Name]] = set()
        self.dependents: dict[str, set[tuple[KindKey, Name]]] = defaultdict(set)
        store.listeners.append(self.follow)

    def open(self) -> None:
        """Create the permanent namespaces."""
        namespaces = self.kinds.of(NAMESPACES)
        assert namespaces is not None
        for name in PERMANENT_NAMESPACES:
            if self.store.get(NAMESPACES, ("", name)) is None:
                self.writes.create(namespaces, "", {"metadata": {"name": name}}, How())

    def follow(self, key: KindKey, change: StoredChange) -> None:
        """Record a change of the store, and schedule what follows from it."""
        if change.after is None:
            self.follow_end(key, change)
            return
        item = change.after
        self.live.add(item.metadata["uid"])
        for owner in item.metadata.get("ownerReferences") or ():
            self.dependents[owner["uid"]].add((key, item.name))
            if owner["uid"] not in self.live:
                self.later(OWNERLESS, self.collect, owner["uid"])
        if key == DEFINITIONS:
            self.serve(item)
        if key in (DEFINITIONS, NAMESPACES) and item.metadata.get("deletionTimestamp"):
            self.later(SOON, self.empty, key, item.name)

    def follow_end(self, key: KindKey, change: StoredChange) -> None:
        """Record a deletion, schedule what follows from it, and drop the kind of a deleted definition."""
        assert change.before is not None
        metadata = change.before.metadata
        self.live.discard(metadata["uid"])
        for owner in metadata.get("ownerReferences") or ():
            self.dependents[owner["uid"]].discard((key, change.before.name))
        if metadata["uid"] in self.dependents:
            self.later(SOON, self.collect, metadata["uid"])
        self.finish_soon(NAMESPACES, ("", metadata.get("namespace", "")))
        self.finish_soon(DEFINITIONS, ("", f"{key[1]}.{key[0]}"))
        if key == DEFINITIONS:
            spec = change.before.body["spec"]
            self.kinds.drop((spec["group"], spec["names"]["plural"]))

    def later(self, seconds: float, act: Any, *arguments: Any) -> None:
        """Call `act` on the running event loop after `seconds`."""
        asyncio.get_running_loop().call_later(seconds, act, *arguments)

    def finish_soon(self, key: KindKey, name: Name) -> None:
        """Schedule `finish` once for many changes, because `finish` walks over all objects."""
        item = self.store.get(key, name)
        if item and item.metadata.get("deletionTimestamp") and (key, name) not in self.finishing:
            self.finishing.add((key, name))
            self.later(SOON, self.finish, key, name)

    def serve(self, definition: StoredObject) -> None:
        """Serve the versions of a definition, in place of its former versions."""
        spec = definition.body["spec"]
        self.kinds.drop((spec["group"], spec["names"]["plural"]))
        for kind in kinds_of(definition.body):
            self.kinds.add(kind)

    def collect(self, owner: str) -> None:
        """Delete the dependents of a deleted owner that have no other living owner."""
        if owner in self.live:
            return
        for key, name in self.dependents.pop(owner, set()):
            item = self.store.get(key, name)
            owners = item.metadata.get("ownerReferences") or () if item else ()
            if owners and not any(reference["uid"] in self.live for reference in owners):
                self.delete(key, name)

    def delete(self, key: KindKey, name: Name) -> None:
        """Delete an object. A refusal is no error."""
        kind = self.kinds.of(key)
        try:
            if kind:
                self.writes.delete(kind, *name, {}, How())
        except ApiRefusal:
            return  # the object is gone meanwhile

    def content(self, key: KindKey, name: Name) -> Iterator[tuple[KindKey, Name]]:
        """Yield kind and name of each object in a namespace, or of a definition's kind."""
        for other, items in list(self.store.items.items()):
            inside = f"{other[1]}.{other[0]}" == name[1] if key == DEFINITIONS else None
            for item_name in list(items):
                if inside or (inside is None and item_name[0] == name[1]):
                    yield other, item_name

    def empty(self, key: KindKey, name: Name) -> None:
        """Delete the content of a terminating namespace or definition."""
        for other, item_name in self.content(key, name):
            self.delete(other, item_name)
        self.finish(key, name)

    def finish(self, key: KindKey, name: Name) -> None:
        """Remove a terminating namespace or definition once it is empty."""
        self.finishing.discard((key, name))
        item = self.store.get(key, name)
        if item and item.metadata.get("deletionTimestamp") and not any(self.content(key, name)):
            self.store.remove(key, name)
