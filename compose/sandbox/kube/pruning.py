"""Prune unknown fields of a custom object and fill in defaults, before it is validated."""

from __future__ import annotations

import copy
from typing import Any, Final

Json = dict[str, Any]
ALWAYS: Final = frozenset({"apiVersion", "kind", "metadata"})
"""Fields that the schema does not describe. They are kept at the root and in embedded objects."""


def pruned(schema: Json, value: Any, path: str, unknown: list[str], root: bool = False) -> Any:
    """Return a copy without unknown fields, and add the paths of these fields to `unknown`."""
    if isinstance(value, list):
        items = schema.get("items") or {}
        return [pruned(items, element, f"{path}[{index}]", unknown) for index, element in enumerate(value)]
    if not isinstance(value, dict):
        return value
    properties, rest = schema.get("properties") or {}, schema.get("additionalProperties")
    keep_all = schema.get("x-kubernetes-preserve-unknown-fields")
    untouched = ALWAYS if root or schema.get("x-kubernetes-embedded-resource") else frozenset()
    result: Json = {}
    for key, element in value.items():
        inner = f"{path}.{key}" if path else key
        if key in untouched:
            result[key] = element
        elif key in properties:
            result[key] = pruned(properties[key], element, inner, unknown)
        elif isinstance(rest, dict):
            result[key] = pruned(rest, element, inner, unknown)
        elif keep_all or rest is True:
            result[key] = element
        else:
            unknown.append(inner)
    return result


def defaulted(schema: Json, value: Any) -> Any:
    """Fill in defaults, and remove nulls that the schema does not allow, in place."""
    if isinstance(value, list):
        for element in value:
            defaulted(schema.get("items") or {}, element)
    elif isinstance(value, dict):
        default_object(schema, value)
    return value


def default_object(schema: Json, value: Json) -> None:
    """Fill in the defaults of an object, and remove its nulls that the schema does not allow, in place."""
    properties, rest = schema.get("properties") or {}, schema.get("additionalProperties")
    for key, inner in properties.items():
        if key in value and value[key] is None and not inner.get("nullable"):
            del value[key]
        if key not in value and "default" in inner:
            value[key] = copy.deepcopy(inner["default"])
        if key in value:
            defaulted(inner, value[key])
    if isinstance(rest, dict):
        for key in value.keys() - properties.keys():
            defaulted(rest, value[key])
