"""What a query of Prometheus names: metrics, and the labels that it takes of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import promql_parser as promql

VARIABLES = {"$__rate_interval": "5m"}  # of Grafana, where a duration stands; others are within quotes


def named(query: str) -> Iterator[tuple[str, set[str]]]:
    """(metric, labels) for each selector: those of its own matchers, and of what it is aggregated by.

    Raises ValueError for what Prometheus would not take.
    """
    for variable, value in VARIABLES.items():
        query = query.replace(variable, value)
    yield from _within(promql.parse(query), frozenset())


def _within(node: Any, by: frozenset[str]) -> Iterator[tuple[str, set[str]]]:
    match node:
        case promql.VectorSelector():
            yield node.name or "", {matcher.name for matcher in node.matchers.matchers} | by
        case promql.MatrixSelector():
            yield from _within(node.vector_selector, by)
        case promql.AggregateExpr():
            labels = node.modifier.labels if node.modifier else ()
            yield from _within(node.expr, frozenset(labels))
        case promql.Call():
            for argument in node.args:
                yield from _within(argument, by)
        case promql.BinaryExpr():
            matching = node.modifier.matching if node.modifier else None
            on = frozenset(matching.labels) if matching else frozenset()
            yield from _within(node.lhs, by | on)
            yield from _within(node.rhs, by | on)
        case promql.ParenExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
            yield from _within(node.expr, by)
        case _:
            return
