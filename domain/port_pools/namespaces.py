"""The namespaces that may take ports of a pool: a Kubernetes label selector."""

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
        """Whether labels meet the expression. As in Kubernetes, NotIn holds for an absent label."""
        value = labels.get(self.key)
        return {
            "In": value is not None and value in self.values,
            "NotIn": value is None or value not in self.values,
            "Exists": value is not None,
            "DoesNotExist": value is None,
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
        expressions = self.match_expressions
        return all((expression.operator in ("In", "NotIn")) == bool(expression.values) for expression in expressions)

    def admits(self, labels: Mapping[str, str]) -> bool:
        """Whether a namespace with these labels may take ports."""
        same = all(labels.get(key) == value for key, value in self.match_labels.items())
        return same and all(expression.holds(labels) for expression in self.match_expressions)
