"""Show progress on a terminal: steps, pods by state, filling load balancers, jobs and the latest Kubernetes Events."""

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
"""How many Events are shown."""
PORTS: Final = {"Bound": "green", "NoPortAvailable": "yellow", "Failed": "red", "Releasing": "magenta"}
JOBS: Final = {"succeeded": "green", "cancelled": "green", "reserved": "yellow", "failed": "red", "lost": "red"}
COLOURS: Final = PORTS | JOBS
WIDTH: Final = 40


class Screen:
    """A ProgressReport (see `lines`) that redraws a terminal."""

    def __init__(self, console: Console, started: float, pods: int) -> None:
        self.started, self.pods, self.picture = started, pods, Picture()
        self.steps: list[tuple[float, str]] = []
        self.live = Live(console=console, get_renderable=self.render, refresh_per_second=5)
        self.live.start()

    def step(self, what: str) -> None:
        """Add a step that is done."""
        self.steps.append((time.monotonic() - self.started, what))

    def show(self, picture: Picture) -> None:
        """Store the picture for the next redraw."""
        self.picture = picture

    def catch_up(self) -> None:
        """Redraw now."""
        self.live.refresh()

    def close(self) -> None:
        """Stop redrawing. May be called twice."""
        if not self.live.is_started:
            return
        self.live.stop()
        if not self.live.console.is_terminal:
            self.live.console.line()  # Live ends its last view without a newline there

    def render(self) -> RenderableType:
        """Return the whole view."""
        picture = self.picture
        return Group(
            *self.done(),
            *self.bound(picture),
            *self.balancers(picture),
            *jobs(picture),
            *claims(picture),
            *self.latest(picture),
        )

    def done(self) -> Iterator[RenderableType]:
        """Yield a line for each step."""
        for seconds, what in self.steps:
            yield Text.assemble((f"{seconds:6.1f} s ", "dim"), ("✓ ", "green"), what)

    def bound(self, picture: Picture) -> Iterator[RenderableType]:
        """Yield the line and the bar of bound pods; nothing without pods."""
        if not picture.pods:
            return
        now = time.monotonic() - self.started
        states = [(f"  {number} {state}", COLOURS.get(state, "")) for state, number in sorted(picture.states.items())]
        yield Text.assemble((f"{now:6.1f} s ", "dim"), f"{len(picture.bound)} of {self.pods} pods bound ", *states)
        line = Table.grid()  # a bar alone does not end its line
        line.add_row(bar(len(picture.bound), self.pods))
        yield line

    def balancers(self, picture: Picture) -> Iterator[RenderableType]:
        """Yield a table with a bar for each load balancer; nothing without load balancers."""
        if not picture.pool.balancers:
            return
        table = Table.grid(padding=(0, 2))
        for balancer in picture.pool.balancers:
            use = f"{balancer.allocated}/{balancer.capacity}"
            table.add_row(Text(balancer.name, "cyan"), bar(balancer.allocated, balancer.capacity), use)
        yield table

    def latest(self, picture: Picture) -> Iterator[RenderableType]:
        """Yield the latest Events."""
        for notice in picture.notices[-LATEST:]:
            what = (f"{notice.kind.lower()}/{notice.name} ", "dim"), (notice.reason, "bold"), f" {notice.message}"
            yield Text.assemble(*what, no_wrap=True, overflow="ellipsis")


def jobs(picture: Picture) -> Iterator[RenderableType]:
    """Yield the lines about jobs and runner pods; nothing without jobs."""
    if not picture.jobs:
        return
    states = [(f"  {number} {state}", COLOURS.get(state, "")) for state, number in sorted(picture.jobs.items())]
    yield Text.assemble(f"{sum(picture.jobs.values())} jobs ", *states)
    runners = picture.runners
    yield Text(f"  runner pods {runners.present}; {runners.slots_in_words}; {runners.reason}", "dim")


def claims(picture: Picture) -> Iterator[RenderableType]:
    """Yield the line about claims; nothing without claims."""
    if picture.claims:
        states = [(f"  {number} {phase}", COLOURS.get(phase, "")) for phase, number in sorted(picture.phases.items())]
        yield Text.assemble(f"{len(picture.claims)} claims ", *states)


def bar(done: int, total: int) -> ProgressBar:
    """Return a bar; `total` may be 0."""
    return ProgressBar(total=max(total, 1), completed=done, width=WIDTH)
