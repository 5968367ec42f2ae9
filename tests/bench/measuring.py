"""What every bench shares: figures with budgets, rounds that take turns, and the files in which results are kept.

A machine that others use is slower one second than the next. So what is compared runs in turns, in the same seconds,
and the ratio is the median over the turns: what disturbs one turn disturbs both sides of it.
"""

from __future__ import annotations

import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

import orjson

FOLDER: Final = Path(__file__).parents[2] / "build" / "bench"
Tell: TypeAlias = Callable[[str], None]
"""Shows progress."""


@dataclass(frozen=True)
class Figure:
    """One measured value; with `at_least` or `at_most` it has a budget. `note` says what it stands for."""

    what: str
    value: float
    unit: str = ""
    at_least: float | None = None
    at_most: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """None without a budget."""
        if self.at_least is None and self.at_most is None:
            return None
        low = -math.inf if self.at_least is None else self.at_least
        return low <= self.value <= (math.inf if self.at_most is None else self.at_most)

    @property
    def budget(self) -> str:
        bounds = [f">= {self.at_least:g}"] if self.at_least is not None else []
        return " ".join([*bounds, *([f"<= {self.at_most:g}"] if self.at_most is not None else [])])


@dataclass(frozen=True)
class Report:
    """What one bench found. `details` are the measured numbers behind the figures."""

    name: str
    figures: tuple[Figure, ...]
    details: Mapping[str, Any]


def in_turns(rounds: int, sides: Mapping[str, Callable[[], float]]) -> dict[str, list[float]]:
    """Each side's results (a rate, mostly), one a round: first all sides once, then all again."""
    results: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            results[name].append(side())
    return results


def ratio(measured: Sequence[float], against: Sequence[float]) -> float:
    """The median of the turns' ratios."""
    return statistics.median(one / other for one, other in zip(measured, against, strict=True))


def rate(count: int, act: Callable[[], object]) -> float:
    """`count` things a second, if `act` does as many."""
    started = time.perf_counter()
    act()
    return count / (time.perf_counter() - started)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` (0 to 1) of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def keep(report: Report, folder: Path = FOLDER) -> Path:
    """Writes `<name>.json`: the figures, what they were made of, and on what kind of machine, how busy."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{report.name}.json"
    path.write_bytes(orjson.dumps(as_json(report), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    return path


def as_json(report: Report) -> dict[str, Any]:
    return {
        "name": report.name,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "figures": [asdict(figure) | {"met": figure.met} for figure in report.figures],
        "details": dict(report.details),
    }


def machine() -> dict[str, Any]:
    """`load` is the average number of runnable processes of the last minute, ours included."""
    return {"cpus": os.cpu_count(), "python": platform.python_version(), "load": round(os.getloadavg()[0], 1)}
