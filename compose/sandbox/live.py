"""Progress on a terminal: steps, pods by state, load balancers as they fill, jobs, and the latest Kubernetes Events."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from compose.sandbox.picture import Picture

LATEST: Final = 8
"""Events shown at a time."""
PORTS: Final = {"Bound": "green", "NoPortAvailable": "yellow", "Failed": "red", "Releasing": "magenta"}
JOBS: Final = {"succeeded": "green", "cancelled": "green", "reserved": "yellow", "failed": "red", "lost": "red"}
COLOURS: Final = PORTS | JOBS
WIDTH: Final = 40


class Screen:
    """A Report (see `lines`)."""

    def __init__(self, console: Console, started: float, pods: int) -> None:
        self.started, self.pods, self.seen = started, pods, Picture()
        self.steps: list[tuple[float, str]] = []
        self.live = Live(console=console, get_renderable=self.render, refresh_per_second=5)
        self.live.start()

    def step(self, what: str) -> None:
        self.steps.append((time.monotonic() - self.started, what))

    def look(self, seen: Picture) -> None:
        self.seen = seen

    def close(self) -> None:
        if not self.live.is_started:
            return
        self.live.stop()
        if not self.live.console.is_terminal:
            self.live.console.line()  # the last view ends without one there

    def render(self) -> RenderableType:
        seen = self.seen
        return Group(
            *self.done(), *self.bound(seen), *self.balancers(seen), *jobs(seen), *claims(seen), *self.latest(seen)
        )

    def done(self) -> Iterator[RenderableType]:
        for seconds, what in self.steps:
            yield Text.assemble((f"{seconds:6.1f} s ", "dim"), ("✓ ", "green"), what)

    def bound(self, seen: Picture) -> Iterator[RenderableType]:
        if not seen.pods:
            return
        now = time.monotonic() - self.started
        states = [(f"  {number} {state}", COLOURS.get(state, "")) for state, number in sorted(seen.states.items())]
        yield Text.assemble((f"{now:6.1f} s ", "dim"), f"{len(seen.bound)} of {self.pods} pods bound ", *states)
        line = Table.grid()  # a bar alone does not end its line
        line.add_row(bar(len(seen.bound), self.pods))
        yield line

    def balancers(self, seen: Picture) -> Iterator[RenderableType]:
        if not seen.pool.balancers:
            return
        table = Table.grid(padding=(0, 2))
        for each in seen.pool.balancers:
            use = f"{each.allocated}/{each.capacity}"
            table.add_row(Text(each.name, "cyan"), bar(each.allocated, each.capacity), use)
        yield table

    def latest(self, seen: Picture) -> Iterator[RenderableType]:
        for notice in seen.notices[-LATEST:]:
            what = (f"{notice.kind.lower()}/{notice.name} ", "dim"), (notice.reason, "bold"), f" {notice.message}"
            yield Text.assemble(*what, no_wrap=True, overflow="ellipsis")


def jobs(seen: Picture) -> Iterator[RenderableType]:
    if not seen.jobs:
        return
    states = [(f"  {number} {state}", COLOURS.get(state, "")) for state, number in sorted(seen.jobs.items())]
    yield Text.assemble(f"{sum(seen.jobs.values())} jobs ", *states)
    yield Text(f"  runner pods {seen.runners.present}; {seen.runners.told}; {seen.runners.reason}", "dim")


def claims(seen: Picture) -> Iterator[RenderableType]:
    if seen.claims:
        states = [(f"  {number} {phase}", COLOURS.get(phase, "")) for phase, number in sorted(seen.phases.items())]
        yield Text.assemble(f"{len(seen.claims)} claims ", *states)


def bar(done: int, total: int) -> ProgressBar:
    return ProgressBar(total=max(total, 1), completed=done, width=WIDTH)
