"""Compare a list with Redis, and return the marks that bring Redis in step with the cluster.

The comparison reads Redis and not the publisher's memory, because Redis may have lost what the publisher remembers. An
object that Redis has and the list lacks was deleted without an event: it gets an ordinary mark at the list's version,
so that a newer snapshot (the object came back meanwhile) refuses that mark like any outdated one. A snapshot of another
history of the API cannot be compared: its key is always marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import orjson

from berthmaster.routing import split_key
from events.publisher.resources import ListedObject
from events.workqueue import Mark, StoredVersion


def difference(
    items: Iterable[ListedObject], stored: Mapping[str, StoredVersion], version: int, history: int = 0
) -> Iterator[Mark]:
    """Yield marks of objects new to Redis, then of deleted ones. `stored` has keys of the listed kind only."""
    listed = set()
    for mark, opted in items:
        listed.add(mark.key)
        if news(mark, opted, stored.get(mark.key), history):
            yield mark
    for key, old in stored.items():
        if key not in listed and not (old.gone and old.history == history):
            yield Mark(key, version, old.uid, gone=True, body=epitaph(key, old.uid))


def news(mark: Mark, opted: bool, old: StoredVersion | None, history: int) -> bool:
    """Return whether to mark: a new object if it opted in; a known one if newer or of another history."""
    return opted if old is None else old.history != history or mark.version > old.version


def epitaph(key: str, uid: str) -> bytes:
    """Return the snapshot of an object whose deletion the watch missed: its name and UID."""
    *namespace, name = split_key(key)[1:]
    return orjson.dumps({**({"namespace": namespace[0]} if namespace else {}), "name": name, "uid": uid})
