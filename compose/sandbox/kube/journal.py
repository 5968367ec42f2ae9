"""Keep the objects over a restart, in a file with a line for each change. Opening the file drops its history."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import orjson

from compose.sandbox.kube.kinds import KindKey
from compose.sandbox.kube.storage import Store, StoredChange

Json = dict[str, Any]


class ObjectJournal:
    """A file with one line for each change of a store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file: BinaryIO | None = None

    def open(self, store: Store) -> None:
        """Fill an empty store from the file, then record its changes. Versions continue, and old versions expire."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        for line in self.path.read_bytes().splitlines() if self.path.exists() else ():
            restore(store, line)
        store.compact()
        fresh = self.path.with_suffix(".part")
        records = (
            [store.version, key, None, item.body] for key, items in store.items.items() for item in items.values()
        )
        fresh.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
        fresh.replace(self.path)
        self.file = self.path.open("ab", buffering=0)
        store.listeners.append(self.follow)

    def follow(self, key: KindKey, change: StoredChange) -> None:
        """Append a change to the file."""
        assert self.file is not None
        gone = change.before.name if change.before and not change.after else None
        record = [change.version, key, gone, change.after.body if change.after else None]
        self.file.write(orjson.dumps(record) + b"\n")


def restore(store: Store, line: bytes) -> None:
    """Apply one line of the file to a store. An incomplete line is ignored."""
    try:
        version, (group, plural), gone, body = orjson.loads(line)
    except ValueError:
        return  # the last line of a process that was killed while it wrote
    if body:
        store.version = int(body["metadata"]["resourceVersion"]) - 1
        store.put((group, plural), body)
    elif store.get((group, plural), tuple(gone)):
        store.remove((group, plural), tuple(gone))
    store.version = max(store.version, version)
