"""Objects that these tests create, and ways to look at a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from events.kube.api import error_of_status
from tests.fixtures.kube import Kube

Json = dict[str, Any]
PATIENCE = 15.0
"""Seconds."""


def pod(name: str = "", **metadata: Any) -> Json:
    about = {"name": name, **metadata} if name or "generateName" not in metadata else metadata
    return {"metadata": about, "spec": {"containers": [{"name": "main", "image": "none"}]}}


def version_of(found: Json) -> str:
    return str(found["metadata"]["resourceVersion"])


def events(kube: Kube, path: str, seconds: int = 10, **query: Any) -> Iterator[Json]:
    """The events of a watch, bookmarks included. Raises what an ERROR line says."""
    for lines in kube.api.lines(path, PATIENCE, timeoutSeconds=seconds, **query):
        for line in lines:
            event = orjson.loads(line)
            if event["type"] == "ERROR":
                raise error_of_status(event["object"])
            yield event


def seen(event: Json) -> tuple[str, str]:
    return event["type"], event["object"]["metadata"].get("name", "")


def first(found: Iterator[Json], count: int) -> list[tuple[str, str]]:
    """Type and name of the first events that are no bookmarks."""
    result: list[tuple[str, str]] = []
    for event in found:
        if event["type"] != "BOOKMARK":
            result.append(seen(event))
        if len(result) == count:
            break
    return result
