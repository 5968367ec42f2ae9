"""Which namespaces may take ports of a pool: a Kubernetes label selector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from berthmaster.spec import Spec

Key = Annotated[str, Field(min_length=1, max_length=317)]
Value = Annotated[str, Field(max_length=63)]


class Requirement(Spec):
    """One expression over one label."""

    key: Key
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: Annotated[tuple[Value, ...], Field(max_length=100)] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """As Kubernetes judges: NotIn holds for a label that is not there."""
        there = labels.get(self.key)
        return {
            "In": there is not None and there in self.values,
            "NotIn": there is None or there not in self.values,
            "Exists": there is not None,
            "DoesNotExist": there is None,
        }[self.operator]


class NamespaceSelector(Spec):
    """Every label and every expression must hold; an empty selector takes all namespaces."""

    match_labels: Annotated[dict[str, Value], Field(max_length=50, description="labels with these values")] = {}
    match_expressions: Annotated[
        tuple[Requirement, ...], Field(max_length=50, description="expressions over labels")
    ] = ()

    @property
    def complete(self) -> bool:
        """Whether each expression has the values that its operator needs, and no others."""
        return all((each.operator in ("In", "NotIn")) == bool(each.values) for each in self.match_expressions)

    def admits(self, labels: Mapping[str, str]) -> bool:
        same = all(labels.get(key) == value for key, value in self.match_labels.items())
        return same and all(each.holds(labels) for each in self.match_expressions)
