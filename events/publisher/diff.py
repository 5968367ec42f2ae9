"""Compare a list with what Redis has: which marks bring Redis in step with the cluster.

Compared with Redis and not with a memory of our own, because Redis may have lost what we remember. An object that
Redis knows and the list lacks was deleted without an event: an ordinary mark at the list's version, so that a newer
snapshot (the object came back meanwhile) refuses it like any other late news. What Redis has of another history of the
API is compared with nothing: it is marked, whatever became of it.
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
    """Marks for what is new to Redis, then for what is gone. `stored` holds keys of the listed kind only."""
    listed = set()
    for mark, opted in items:
        listed.add(mark.key)
        if news(mark, opted, stored.get(mark.key), history):
            yield mark
    for key, old in stored.items():
        if key not in listed and not (old.gone and old.history == history):
            yield Mark(key, version, old.uid, gone=True, body=epitaph(key, old.uid))


def news(mark: Mark, opted: bool, old: StoredVersion | None, history: int) -> bool:
    """An object that Redis lacks counts if it opted in; another one if it is newer, whether it still opts in or not."""
    return opted if old is None else old.history != history or mark.version > old.version


def epitaph(key: str, uid: str) -> bytes:
    """The snapshot of an object whose deletion the watch missed: it names the object."""
    *namespace, name = split_key(key)[1:]
    return orjson.dumps({**({"namespace": namespace[0]} if namespace else {}), "name": name, "uid": uid})
