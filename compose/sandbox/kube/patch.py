"""Patches: RFC 7386 (merge), RFC 6902 (JSON) and the part of Kubernetes' strategic merge that kubectl needs."""

from __future__ import annotations

import copy
from typing import Any, Final

from compose.sandbox.kube.refusal import bad_request, media_type, unpatchable

Json = dict[str, Any]
LIST_KEYS: Final = {
    "containers": ("name",),
    "initContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "ports": ("containerPort", "port"),
    "volumeMounts": ("mountPath",),
    "conditions": ("type",),
    "ownerReferences": ("uid",),
    "podIPs": ("ip",),
    "addresses": ("type",),
}
"""Lists of objects that a strategic merge joins by a key. It replaces other lists."""


def patched(body: Json, patch: Any, content_type: str) -> Json:
    """Return a patched copy of a body. Raises 400, 415 or 422."""
    kind = content_type.partition(";")[0].strip()
    if kind == "application/json-patch+json":
        return json_patched(body, patch)
    if not isinstance(patch, dict):
        raise bad_request("a merge patch must be an object")
    if kind == "application/merge-patch+json":
        return dict(merged(body, patch))
    if kind == "application/strategic-merge-patch+json":
        return strategic(body, patch)
    raise media_type(kind)


def merged(body: Any, patch: Any) -> Any:
    """Return a value after a merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(body) if isinstance(body, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def strategic(body: Any, patch: Json) -> Json:
    """Return an object after a strategic merge patch."""
    if patch.get("$patch") == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    result = dict(body) if isinstance(body, dict) else {}
    for key, value in patch.items():
        if key.startswith("$deleteFromPrimitiveList/"):
            field = key.partition("/")[2]
            result[field] = [old for old in result.get(field, []) if old not in value]
        elif not key.startswith("$"):
            strategic_field(result, key, value)
    return result


def strategic_field(result: Json, key: str, value: Any) -> None:
    """Apply one field of a strategic merge patch to `result`."""
    if value is None:
        result.pop(key, None)
    elif isinstance(value, dict):
        result[key] = strategic(result.get(key), value)
    elif isinstance(value, list) and key == "finalizers":
        result[key] = [*(result.get(key) or []), *(new for new in value if new not in (result.get(key) or []))]
    elif isinstance(value, list) and key in LIST_KEYS and all(isinstance(new, dict) for new in value):
        result[key] = joined(result.get(key) or [], value, LIST_KEYS[key])
    else:
        result[key] = value


def joined(old: list[Json], new: list[Json], keys: tuple[str, ...]) -> list[Json]:
    """Join two lists of objects. `keys`: the first that an element has identifies the element."""

    def identity(element: Json) -> Any:
        return next((element[key] for key in keys if key in element), None)

    if any(element.get("$patch") == "replace" for element in new):
        return [element for element in new if "$patch" not in element]
    result = {identity(element): element for element in old}
    for element in new:
        if element.get("$patch") == "delete":
            result.pop(identity(element), None)
        else:
            result[identity(element)] = strategic(result.get(identity(element)), element)
    return list(result.values())


def json_patched(body: Json, operations: Any) -> Json:
    """Return a body after a JSON patch (RFC 6902). Raises 400 or 422."""
    if not isinstance(operations, list):
        raise bad_request("a JSON patch must be a list of operations")
    document = {"": copy.deepcopy(body)}
    try:
        for operation in operations:
            operate(document, operation)
    except (KeyError, IndexError, ValueError, TypeError, AttributeError) as error:
        raise unpatchable() from error
    return document[""]


def operate(document: Json, operation: Json) -> None:
    """Apply one operation of a JSON patch in place. Raises ValueError for a failed test or an unknown operation."""
    match operation["op"]:
        case "add":
            add(document, operation["path"], operation["value"])
        case "remove":
            take(document, operation["path"])
        case "replace":
            take(document, operation["path"])
            add(document, operation["path"], operation["value"])
        case "move":
            add(document, operation["path"], take(document, operation["from"]))
        case "copy":
            add(document, operation["path"], copy.deepcopy(value_at(document, operation["from"])))
        case "test":
            if value_at(document, operation["path"]) != operation["value"]:
                raise ValueError("test failed")
        case other:
            raise ValueError(other)


def steps(pointer: str) -> list[str]:
    """Return the parts of a JSON pointer, '' first."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")]


def walk(document: Any, parts: list[str]) -> Any:
    """Return the value that the parts of a JSON pointer lead to."""
    for part in parts:
        document = document[int(part)] if isinstance(document, list) else document[part]
    return document


def value_at(document: Json, pointer: str) -> Any:
    """Return the value at a JSON pointer."""
    return walk(document, steps(pointer))


def add(document: Json, pointer: str, value: Any) -> None:
    """Set a field, or insert a list element, at a JSON pointer."""
    *parents, last = steps(pointer)
    parent = walk(document, parents)
    if isinstance(parent, list):
        parent.insert(len(parent) if last == "-" else checked(int(last), len(parent)), value)
    else:
        parent[last] = value


def take(document: Json, pointer: str) -> Any:
    """Remove and return the value at a JSON pointer."""
    *parents, last = steps(pointer)
    parent = walk(document, parents)
    return parent.pop(int(last) if isinstance(parent, list) else last)


def checked(index: int, length: int) -> int:
    """Return the index at which an element is inserted. Raises IndexError if it is out of range."""
    if not 0 <= index <= length:
        raise IndexError(index)
    return index
