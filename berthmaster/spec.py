"""What the specs of our resources have in common: their shape, lengths of time, and rules over several fields.

A rule is checked twice. The API server evaluates its expression before it stores anything. A worker checks the model,
for a cluster whose definition is older or that supports no expressions. Both give the same message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from berthmaster.duration import spelled
from berthmaster.forms import form

S = TypeVar("S")
Length = Annotated[str, Field(pattern=form("^[0-9]{1,9}(s|m|h)$", "a length of time, such as 90s, 10m or 24h"))]
"""A length of time as Kubernetes' own expressions read it: `90s`, `10m`, `24h`."""


def length(text: str) -> timedelta:
    """Parse a Length."""
    value: Any = spelled(text)
    assert isinstance(value, timedelta), text
    return value


class Spec(BaseModel):
    """Camel case outside, as Kubernetes writes; unknown fields are refused with their name."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)


@dataclass(frozen=True)
class Rule(Generic[S]):
    """A rule over fields. For a valid spec `cel` is true and `broken` false; `field` is to blame otherwise.

    CEL sees every default filled in.
    """

    field: str
    message: str
    cel: str
    broken: Callable[[S], bool]


def broken_rules(rules: Iterable[Rule[Any]], spec: Spec) -> tuple[str, ...]:
    """Return the message of every rule that the spec breaks."""
    return tuple(rule.message for rule in rules if rule.broken(spec))


def validation(field: str, rule: str, message: str) -> dict[str, Any]:
    """Return an entry of `x-kubernetes-validations`."""
    return {"rule": rule, "message": message, "fieldPath": f".{field}", "reason": "FieldValueInvalid"}


def each_once(names: Iterable[str]) -> tuple[str, ...]:
    """Raise ValueError for a list with a duplicate. The API server refuses such a list by the list's type."""
    listed = tuple(names)
    if doubles := sorted({name for name in listed if listed.count(name) > 1}):
        raise ValueError(f"Duplicate value: {doubles[0]}")
    return listed
