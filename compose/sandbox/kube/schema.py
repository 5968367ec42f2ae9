"""Validate a custom object against the structural schema of its definition, with the messages of the real API."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import orjson

Json = dict[str, Any]
Check = Callable[[Json, Any, str], Iterator[str]]
NUMBER: Final = (int, float)
TYPES: Final[dict[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": NUMBER,
}


def faults(schema: Json, value: Any, path: str = "") -> Iterator[str]:
    """Yield "path: what is wrong" for each fault."""
    if value is None and schema.get("nullable"):
        return
    if wrong := wrong_type(schema, value, path):
        yield wrong
        return
    for check in CHECKS.get(type(value), ()):
        yield from check(schema, value, path)
    yield from enumeration(schema, value, path)
    yield from combinations(schema, value, path)


def wrong_type(schema: Json, value: Any, path: str) -> str | None:
    """Return the fault of a value of a wrong type, None for a right type."""
    if schema.get("x-kubernetes-int-or-string"):
        fits, wanted = isinstance(value, (int, str)) and not isinstance(value, bool), "integer,string"
    elif wanted := schema.get("type", ""):
        fits = isinstance(value, TYPES[wanted]) and (wanted == "boolean" or not isinstance(value, bool))
        fits = fits or (wanted == "integer" and isinstance(value, float) and value.is_integer())
    else:
        return None
    return None if fits else f"{path}: Invalid value: {shown(value)}: {path} in body must be of type {wanted}"


def shown(value: Any) -> str:
    """Return a value as JSON text."""
    return orjson.dumps(value).decode()


def bad(path: str, value: Any, what: str) -> str:
    """Return the fault of a value that should be `what`."""
    return f"{path}: Invalid value: {shown(value)}: {path} in body should be {what}"


def enumeration(schema: Json, value: Any, path: str) -> Iterator[str]:
    """Yield a fault for a value that `enum` lacks."""
    allowed = schema.get("enum")
    if allowed is not None and value not in allowed:
        yield f"{path}: Unsupported value: {shown(value)}: supported values: {', '.join(map(shown, allowed))}"


def combinations(schema: Json, value: Any, path: str) -> Iterator[str]:
    """Yield faults of `allOf`, `anyOf`, `oneOf` and `not`."""

    def fitting(name: str) -> int:
        return sum(not any(faults(part, value, path)) for part in schema[name])

    if "allOf" in schema and fitting("allOf") < len(schema["allOf"]):
        yield f"{path}: Invalid value: {shown(value)}: must validate all the schemas (allOf)"
    if "anyOf" in schema and not fitting("anyOf"):
        yield f"{path}: Invalid value: {shown(value)}: must validate at least one schema (anyOf)"
    if "oneOf" in schema and fitting("oneOf") != 1:
        yield f"{path}: Invalid value: {shown(value)}: must validate one and only one schema (oneOf)"
    if "not" in schema and not any(faults(schema["not"], value, path)):
        yield f"{path}: Invalid value: {shown(value)}: must not validate the schema (not)"


def number(schema: Json, value: float, path: str) -> Iterator[str]:
    """Yield faults of a number: minimum, maximum, multiple."""
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and (value <= least if schema.get("exclusiveMinimum") else value < least):
        yield bad(path, value, f"greater than {'' if schema.get('exclusiveMinimum') else 'or equal to '}{least}")
    if most is not None and (value >= most if schema.get("exclusiveMaximum") else value > most):
        yield bad(path, value, f"less than {'' if schema.get('exclusiveMaximum') else 'or equal to '}{most}")
    if schema.get("multipleOf") and value % schema["multipleOf"]:
        yield bad(path, value, f"a multiple of {schema['multipleOf']}")


def string(schema: Json, value: str, path: str) -> Iterator[str]:
    """Yield faults of a string: length, pattern, format."""
    if len(value) < schema.get("minLength", 0):
        yield bad(path, value, f"at least {schema['minLength']} chars long")
    if len(value) > schema.get("maxLength", len(value)):
        yield f"{path}: Too long: may not be more than {schema['maxLength']} bytes"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{path}: Invalid value: {shown(value)}: {path} in body should match '{schema['pattern']}'"
    if schema.get("format") == "date-time" and not re.match(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d", value):
        yield f"{path}: Invalid value: {shown(value)}: {path} in body must be of type date-time"


def array(schema: Json, value: list[Any], path: str) -> Iterator[str]:
    """Yield faults of a list and of its elements."""
    if len(value) < schema.get("minItems", 0):
        yield f"{path}: Invalid value: {len(value)}: {path} in body should have at least {schema['minItems']} items"
    if len(value) > schema.get("maxItems", len(value)):
        yield f"{path}: Too many: {len(value)}: must have at most {schema['maxItems']} items"
    yield from duplicates(schema, value, path)
    for index, element in enumerate(value):
        yield from faults(schema.get("items") or {}, element, f"{path}[{index}]")


def duplicates(schema: Json, value: list[Any], path: str) -> Iterator[str]:
    """Yield a fault for each element that a list of type `set` or `map` has twice."""
    kind, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys") or []
    if kind not in ("set", "map"):
        return
    identities = set()
    for index, element in enumerate(value):
        identity = shown(element if kind == "set" else {key: element.get(key) for key in keys})
        if identity in identities:
            yield f"{path}[{index}]: Duplicate value: {identity}"
        identities.add(identity)


def mapping(schema: Json, value: Json, path: str) -> Iterator[str]:
    """Yield faults of an object and of its fields."""
    properties, rest = schema.get("properties") or {}, schema.get("additionalProperties")
    prefix = f"{path}." if path else ""
    for name in schema.get("required") or ():
        if name not in value:
            yield f"{prefix}{name}: Required value"
    if len(value) < schema.get("minProperties", 0):
        yield bad(path, value, f"an object of at least {schema['minProperties']} properties")
    if len(value) > schema.get("maxProperties", len(value)):
        yield f"{path}: Too many: {len(value)}: must have at most {schema['maxProperties']} items"
    for key, element in value.items():
        inner = properties.get(key) or (rest if isinstance(rest, dict) else None)
        if inner:
            yield from faults(inner, element, f"{prefix}{key}")


CHECKS: Final[dict[type, tuple[Check, ...]]] = {
    int: (number,),
    float: (number,),
    str: (string,),
    list: (array,),
    dict: (mapping,),
}
