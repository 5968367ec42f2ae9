"""Rules of custom resources in the Common Expression Language (`x-kubernetes-validations`).

Kubernetes adds functions to the language that the library lacks. `FUNCTIONS` has the likely ones. The optional syntax
(`self.?field`) is not supported. A definition with a rule that does not compile is refused, as by the real API.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

import cel

Json = dict[str, Any]
RESERVED: Final = {
    *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"),
    *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
}
ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "isSorted": lambda values: values == sorted(values),
    "sum": sum,
    "indexOf": lambda text, part: text.find(part) if isinstance(text, str) else index_of(text, part),
    "find": lambda text, pattern: match[0] if (match := re.search(pattern, text)) else "",
    "lowerAscii": str.lower,
    "upperAscii": str.upper,
    "trim": str.strip,
    "split": lambda text, separator: text.split(separator),
    "join": lambda parts, separator="": separator.join(parts),
    "isURL": lambda text: bool(re.match(r"[a-z][a-z0-9+.-]*://\S+$|/", text)),
    "isIP": lambda text: bool(re.fullmatch(r"[0-9a-fA-F.:]+", text)),
}


def index_of(values: list[Any], value: Any) -> int:
    """Return the index of a value in a list, -1 if it is missing."""
    return values.index(value) if value in values else -1


@lru_cache(maxsize=1000)
def compiled(rule: str) -> Any:
    """Compile a rule. Raises ValueError with the place of the error."""
    return cel.compile(rule)


def spelled(name: str) -> str:
    """Return the name by which rules refer to a property."""
    if name in RESERVED:
        return f"__{name}__"
    return re.sub("__|[.\\-/]", lambda match: ESCAPES[match[0]], name)


def visible(schema: Json, value: Any) -> Any:
    """Return the value as rules see it: with escaped names, and integers of type `number` as floats."""
    if isinstance(value, list):
        return [visible(schema.get("items") or {}, element) for element in value]
    if isinstance(value, dict):
        properties, rest = schema.get("properties"), schema.get("additionalProperties")
        if properties:
            return {spelled(key): visible(properties.get(key) or {}, element) for key, element in value.items()}
        return {key: visible(rest if isinstance(rest, dict) else {}, element) for key, element in value.items()}
    return float(value) if schema.get("type") == "number" and isinstance(value, int) else value


def all_rules(schema: Json) -> Iterator[str]:
    """Yield all rules of a schema."""
    for rule in schema.get("x-kubernetes-validations") or ():
        yield rule["rule"]
    inner = [*(schema.get("properties") or {}).values(), schema.get("items"), schema.get("additionalProperties")]
    for part in inner:
        if isinstance(part, dict):
            yield from all_rules(part)


def broken(schema: Json, value: Any, old: Any, path: str = "") -> Iterator[str]:
    """Yield "path: what is wrong" for a value that fits its schema. `old`: None if the value is new."""
    for rule in schema.get("x-kubernetes-validations") or ():
        if (message := verdict(rule, schema, value, old)) is not None:
            at = path + rule.get("fieldPath", "") if path else rule.get("fieldPath", "").removeprefix(".")
            yield f"{at or '<nil>'}: Invalid value: {message}"
    for key, inner, element, before in children(schema, value, old):
        yield from broken(inner, element, before, f"{path}{key}" if path else key.removeprefix("."))


def children(schema: Json, value: Any, old: Any) -> Iterator[tuple[str, Json, Any, Any]]:
    """Yield path, schema, value and old value of each property or element that has a schema."""
    if isinstance(value, dict):
        properties, rest = schema.get("properties") or {}, schema.get("additionalProperties")
        for key, element in value.items():
            inner = properties.get(key) or (rest if isinstance(rest, dict) else None)
            if inner:
                yield f".{key}", inner, element, old.get(key) if isinstance(old, dict) else None
    elif isinstance(value, list) and schema.get("items"):
        keys = schema.get("x-kubernetes-list-map-keys") or []
        for index, element in enumerate(value):
            yield f"[{index}]", schema["items"], element, counterpart(element, old, keys)


def counterpart(element: Any, old: Any, keys: list[str]) -> Any:
    """Return the element of the old list with the same keys, None for lists without keys."""
    if not keys or not isinstance(old, list):
        return None
    return next((candidate for candidate in old if all(candidate.get(key) == element.get(key) for key in keys)), None)


def verdict(rule: Json, schema: Json, value: Any, old: Any) -> str | None:
    """Return what is wrong, or None.

    A rule about `oldSelf` needs an old value, unless the rule has `optionalOldSelf`.
    """
    if old is None and re.search(r"\boldSelf\b", rule["rule"]) and not rule.get("optionalOldSelf"):
        return None
    context = cel.Context({"self": visible(schema, value), "oldSelf": visible(schema, old)})
    for name, function in FUNCTIONS.items():
        context.add_function(name, function)
    try:
        if compiled(rule["rule"]).execute(context) is True:
            return None
        if "messageExpression" in rule:
            return str(compiled(rule["messageExpression"]).execute(context))
    except (RuntimeError, KeyError, TypeError, ValueError) as error:
        return f"{rule['rule']}: {error}"
    return str(rule.get("message") or f"failed rule: {rule['rule']}")
