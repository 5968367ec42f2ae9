"""Convert pydantic's JSON schema to the subset that a CustomResourceDefinition may contain.

Kubernetes takes a "structural" subset: no references, no titles, no unions for optional values, no
`additionalProperties: false` (unknown fields are pruned, or refused when the client asks for strict validation).
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
DROPPED = frozenset({"title", "$defs", "additionalProperties"})


def structural(schema: Json) -> Json:
    """Return the structural form of a whole schema with its `$defs`."""
    return resolved(schema, schema.get("$defs", {}))


def resolved(schema: Json, definitions: Json) -> Json:
    """Replace every reference by its definition, and optional values by plain ones without a default."""
    if "anyOf" in schema:
        present = next(option for option in schema["anyOf"] if option.get("type") != "null")
        schema = {**present, **{key: value for key, value in schema.items() if key not in ("anyOf", "default")}}
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        schema = {**definitions[name], **{key: value for key, value in schema.items() if key != "$ref"}}
    kept = {key: value for key, value in schema.items() if key not in DROPPED}
    for word, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if word in kept:  # a number here; in Kubernetes' older dialect a flag beside the number
            kept |= {bound: kept[word], word: True}
    if "properties" in schema:
        kept["properties"] = {name: resolved(field, definitions) for name, field in schema["properties"].items()}
        kept |= {"default": {}} if "default" in schema else {}  # the fields have their own defaults
    if "items" in schema:
        kept["items"] = resolved(schema["items"], definitions)
    if isinstance(schema.get("additionalProperties"), dict):
        kept["additionalProperties"] = resolved(schema["additionalProperties"], definitions)
    return kept


def opened(schema: Json) -> Json:
    """Relax a schema for objects that a newer version may write: nothing is required, unknown fields are kept."""
    kept = {key: value for key, value in schema.items() if key != "required"}
    if "properties" in schema:
        kept["properties"] = {name: opened(field) for name, field in schema["properties"].items()}
        kept["x-kubernetes-preserve-unknown-fields"] = True
    if "items" in schema:
        kept["items"] = opened(schema["items"])
    return kept
