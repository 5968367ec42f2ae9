"""Tables for people. `kubectl get` asks for a table instead of objects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from berthmaster.clock import wall_clock
from compose.sandbox.kube.kinds import ServedKind
from compose.sandbox.kube.storage import StoredObject

Json = dict[str, Any]
AGE: Final = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
COLUMNS: Final[dict[str, tuple[Json, ...]]] = {
    "Pod": (
        {"name": "Status", "type": "string", "jsonPath": ".status.phase"},
        {"name": "IP", "type": "string", "jsonPath": ".status.podIP"},
        {"name": "Node", "type": "string", "jsonPath": ".spec.nodeName"},
        AGE,
    ),
    "Event": (
        {"name": "Type", "type": "string", "jsonPath": ".type"},
        {"name": "Reason", "type": "string", "jsonPath": ".reason"},
        {"name": "Object", "type": "string", "jsonPath": ".involvedObject.name"},
        {"name": "Message", "type": "string", "jsonPath": ".message"},
        AGE,
    ),
    "Namespace": ({"name": "Status", "type": "string", "jsonPath": ".status.phase"}, AGE),
    "Lease": ({"name": "Holder", "type": "string", "jsonPath": ".spec.holderIdentity"}, AGE),
}


def wanted(accept: str) -> bool:
    """Return whether an Accept header asks for a table."""
    return "as=Table" in accept


def table(kind: ServedKind, items: Iterable[StoredObject], version: int, headed: bool = True) -> Json:
    """Return objects as a table. `headed`: with column definitions."""
    columns = kind.columns or COLUMNS.get(kind.name, (AGE,))
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": str(version)},
        "columnDefinitions": [definition(column) for column in (NAME, *columns)] if headed else None,
        "rows": [row(item, columns) for item in items],
    }


NAME: Final = {"name": "Name", "type": "string", "format": "name", "jsonPath": ".metadata.name"}


def definition(column: Json) -> Json:
    """Return the definition of a column. A date is defined as a string, because its cells hold ages."""
    kind = "string" if column["type"] == "date" else column["type"]
    about = {"format": "", "description": "", "priority": 0} | {k: v for k, v in column.items() if k != "jsonPath"}
    return about | {"type": kind}


def row(item: StoredObject, columns: tuple[Json, ...]) -> Json:
    """Return the row of an object."""
    cells = [item.metadata["name"], *(cell(item.body, column) for column in columns)]
    metadata = {key: value for key, value in item.metadata.items() if key != "managedFields"}
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
    return {"cells": cells, "object": partial}


def cell(body: Json, column: Json) -> Any:
    """Return a cell, None if the object lacks the value."""
    values = list(looked_up(body, column["jsonPath"]))
    if not values:
        return None
    return age(values[0]) if column["type"] == "date" else values[0]


def looked_up(value: Any, path: str) -> Iterator[Any]:
    """Yield what a simple JSONPath selects: names, indexes, `[*]` and `[?(@.a=="b")]`."""
    match = re.match(r"\.?([\w/-]+)|\.?\[(\d+|\*)\]|\[\?\(@\.(\w+)\s*==\s*[\"']([^\"']*)[\"']\)\]", path)
    if not match:
        yield value
        return
    name, index, key, wanted_value = match.groups()
    rest = path[match.end() :]
    for step in steps(value, name, index, key, wanted_value):
        yield from looked_up(step, rest)


def steps(value: Any, name: str | None, index: str | None, key: str | None, wanted_value: str | None) -> list[Any]:
    """Return what one step of a path selects: a name, an index or `*`, or a `key` with a value."""
    if name is not None:
        return [value[name]] if isinstance(value, dict) and name in value else []
    if not isinstance(value, list):
        return []
    if index is not None:
        return value if index == "*" else value[int(index) : int(index) + 1]
    return [element for element in value if isinstance(element, dict) and element.get(key) == wanted_value]


def age(stamp: str) -> str:
    """Return an age as kubectl writes it, a little coarser."""
    seconds = int((wall_clock() - datetime.fromisoformat(stamp)).total_seconds())
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{max(seconds, 0)}s"
