"""The parts of a dashboard, and the forms of its queries.

Every worker exports the same state, so its gauges are joined by `max` over all workers; counters are joined by `sum`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

POOL: Final = 'pool=~"$pool"'


class Panel(NamedTuple):
    """A panel. `queries`: PromQL and the legend of its lines. `kind`: Grafana's name of the panel's type."""

    title: str
    queries: tuple[tuple[str, str], ...]
    unit: str = "short"
    kind: str = "timeseries"
    text: str = ""
    stacked: bool = False


class Board(NamedTuple):
    """A dashboard. `variable`: a label whose values people choose, and the metric that has it; '' for none."""

    title: str
    rows: tuple[tuple[str, tuple[Panel, ...]], ...]
    variable: tuple[str, str] = ("", "")


def selected(name: str, where: str) -> str:
    """Return a metric with its selector `where`, '' for all."""
    return f"{name}{{{where}}}" if where else name


def gauge(name: str, by: str, where: str = "") -> str:
    """Return the query of a gauge by labels, '' for none."""
    return f"max by ({by}) ({selected(name, where)})" if by else f"max({selected(name, where)})"


def rate(name: str, by: str, where: str = "") -> str:
    """Return the query of a counter's rate per second by labels, '' for none."""
    total = f"rate({selected(name, where)}[$__rate_interval])"
    return f"sum by ({by}) ({total})" if by else f"sum({total})"


def rose(name: str, by: str, where: str = "") -> str:
    """Return the query of a rare counter's increase, with its first event, which rate and increase miss."""
    total, span = selected(name, where), "$__rate_interval"
    return f"sum by ({by}) (({total} unless {total} offset {span}) or increase({total}[{span}]))"


def quantile(share: float, name: str, by: str, where: str = "") -> str:
    """Return the query of a histogram's quantile by labels, '' for none."""
    return f"histogram_quantile({share}, {rate(f'{name}_bucket', f'le, {by}' if by else 'le', where)})"


def stat(title: str, query: str, text: str = "", unit: str = "short") -> Panel:
    """Return a panel that shows one number."""
    return Panel(title, ((query, ""),), unit, "stat", text)
