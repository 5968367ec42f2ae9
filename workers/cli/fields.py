"""Compare the definitions of a cluster with those of this version.

The comparison goes field by field, because the API server silently drops a field that it does not know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel

from berthmaster.kinds import ResourceKind
from domain.definitions import definition_of

Json = Mapping[str, Any]
SHOWN: Final = 3


def difference(kind: ResourceKind, served: Json) -> str | None:
    """Describe the fields that a served schema lacks, or has in addition. None if it matches this version."""
    there = {path for part in ("spec", "status") for path in fields(served.get("properties", {}).get(part, {}), part)}
    definition = definition_of(kind)
    models = (("spec", definition.spec), ("status", definition.status))
    wanted = {path for part, model in models for path in fields_of(model, part)}
    if missing := wanted - there:
        return f"older than this version, lacks {some(missing)}: kubectl apply -f deploy/crds"
    if more := there - wanted:
        return f"newer than this version, has {some(more)} as well: update the workers"
    return None


def fields_of(model: type[BaseModel], path: str) -> set[str]:
    """Return the fields of a model, as `fields` does for a schema."""
    schema = model.model_json_schema(by_alias=True)
    return set(fields(schema, path, schema.get("$defs", {})))


def fields(schema: Json, path: str, definitions: Json | None = None) -> Iterator[str]:
    """Yield the paths of all fields, and of the values of each enumeration."""
    parts = [schema, *schema.get("anyOf", ())]
    for part in parts:
        if reference := part.get("$ref"):
            yield from fields((definitions or {})[reference.rpartition("/")[2]], path, definitions)
        for value in part.get("enum", ()):
            yield f"{path}={value}"
        for name, inner in part.get("properties", {}).items():
            yield f"{path}.{name}"
            yield from fields(inner, f"{path}.{name}", definitions)
        for inner in (part.get("items"), part.get("additionalProperties")):
            if isinstance(inner, Mapping):
                yield from fields(inner, f"{path}[]", definitions)


def some(paths: set[str]) -> str:
    """Name the first few paths."""
    shown = sorted(paths)[:SHOWN]
    return ", ".join(shown) + (f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else "")
