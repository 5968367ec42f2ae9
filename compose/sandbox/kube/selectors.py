"""Label and field selectors, parsed once and applied to many objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from compose.sandbox.kube.kinds import ServedKind
from compose.sandbox.kube.refusal import bad_request
from compose.sandbox.kube.storage import StoredObject

Json = dict[str, Any]
Test = Callable[[Mapping[str, str]], bool]
REQUIREMENT: Final = re.compile(
    r"\s*(?:(?P<absent>!)\s*)?(?P<key>[\w./-]+)\s*"
    r"(?:(?P<equal>==|=|!=)\s*(?P<value>[\w./-]*)|(?P<set>in|notin)\s*\((?P<values>[^()]*)\))?\s*(?:,|$)"
)


def label_tests(text: str) -> list[Test]:
    """Parse a label selector. Raises 400 for a syntax error."""
    tests, at = [], 0
    while at < len(text):
        match = REQUIREMENT.match(text, at)
        if not match:
            raise bad_request(f"unable to parse requirement: {text[at:]!r}")
        tests.append(label_test(match))
        at = match.end()
    return tests


def label_test(requirement: re.Match[str]) -> Test:
    """Return the test of one requirement, a match of `REQUIREMENT`."""
    key, values = (
        requirement["key"],
        {value.strip() for value in (requirement["values"] or requirement["value"] or "").split(",")},
    )
    match requirement["equal"] or requirement["set"]:
        case "=" | "==" | "in":
            return lambda labels: labels.get(key) in values
        case "!=" | "notin":
            return lambda labels: labels.get(key) not in values
    return (lambda labels: key not in labels) if requirement["absent"] else (lambda labels: key in labels)


def field_tests(text: str, kind: ServedKind) -> list[tuple[list[str], str, bool]]:
    """Parse a field selector into (path, value, is equality). Raises 400 for fields that the kind does not support."""
    tests = []
    for term in filter(None, text.split(",")):
        match = re.fullmatch(r"([^=!]+)(!=|==|=)(.*)", term)
        if not match:
            raise bad_request(f'invalid selector: "{text}"; can\'t understand "{term}"')
        if match[1] not in kind.fields:
            raise bad_request(f"field label not supported: {match[1]}")
        tests.append((match[1].split("."), match[3], match[2] != "!="))
    return tests


def field_value(body: Json, path: list[str]) -> str:
    """Return the value at a path as text, '' if it is missing."""
    value: Any = body
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return "" if value is None else str(value)


@dataclass(frozen=True)
class Selection:
    """The objects of a kind that a list or watch selects."""

    namespace: str
    labels: list[Test]
    fields: list[tuple[list[str], str, bool]]

    @classmethod
    def parse(cls, kind: ServedKind, namespace: str, name: str, query: Mapping[str, str]) -> Selection:
        """Return the selection of a query. `namespace` and `name`: '' means all. Raises 400."""
        fields = field_tests(query.get("fieldSelector", ""), kind)
        if name:
            fields.append((["metadata", "name"], name, True))
        return cls(namespace, label_tests(query.get("labelSelector", "")), fields)

    @property
    def everything(self) -> bool:
        """Whether all objects of the namespace are selected."""
        return not self.labels and not self.fields

    def matches(self, item: StoredObject | None) -> bool:
        """Return whether an object is selected; None is not."""
        if item is None or (self.namespace and item.metadata.get("namespace") != self.namespace):
            return False
        labels = item.metadata.get("labels") or {}
        return all(test(labels) for test in self.labels) and all(
            (field_value(item.body, path) == value) is equal for path, value, equal in self.fields
        )
