"""The parts of a dashboard, and the shapes of its queries.

Every worker tells the same state, so gauges of it are taken by `max`, over whoever answers; counters by `sum`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

POOL: Final = 'pool=~"$pool"'


class Panel(NamedTuple):
    """`queries`: PromQL and the legend of its lines. `kind` is Grafana's name of the panel."""

    title: str
    queries: tuple[tuple[str, str], ...]
    unit: str = "short"
    kind: str = "timeseries"
    text: str = ""
    stacked: bool = False


class Board(NamedTuple):
    """`variable`: a label to choose values of, and the metric that has them; '' for none."""

    title: str
    rows: tuple[tuple[str, tuple[Panel, ...]], ...]
    variable: tuple[str, str] = ("", "")


def selected(name: str, where: str) -> str:
    return f"{name}{{{where}}}" if where else name


def gauge(name: str, by: str, where: str = "") -> str:
    return f"max by ({by}) ({selected(name, where)})" if by else f"max({selected(name, where)})"


def rate(name: str, by: str, where: str = "") -> str:
    total = f"rate({selected(name, where)}[$__rate_interval])"
    return f"sum by ({by}) ({total})" if by else f"sum({total})"


def rose(name: str, by: str, where: str = "") -> str:
    """For what is rare: a counter comes into being with its first event, which neither rate nor increase sees."""
    total, span = selected(name, where), "$__rate_interval"
    return f"sum by ({by}) (({total} unless {total} offset {span}) or increase({total}[{span}]))"


def quantile(share: float, name: str, by: str, where: str = "") -> str:
    return f"histogram_quantile({share}, {rate(f'{name}_bucket', f'le, {by}' if by else 'le', where)})"


def stat(title: str, query: str, text: str = "", unit: str = "short") -> Panel:
    return Panel(title, ((query, ""),), unit, "stat", text)
