"""The lines that a sandbox prints into a pipe."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from compose.sandbox.lines import PlainLines
from compose.sandbox.picture import Notice, Picture

PENDING = Picture(notices=(Notice("PortPool", "arena", "Created", "a load balancer"),))
DONE = Picture(notices=(*PENDING.notices, Notice("PortPool", "arena", "Active", "it is there")))


class Lines:
    def __init__(self) -> None:
        self.out = io.StringIO()
        self.report = PlainLines(Console(file=self.out, width=200), 0)

    def events(self) -> list[str]:
        return [line.partition("event: ")[2] for line in self.out.getvalue().splitlines() if "event: " in line]


def test_what_is_printed_next_is_not_newer_than_the_lines() -> None:
    """A picture less than a period after the lines before it waits, but not beyond the table of the summary."""
    lines = Lines()
    lines.report.show(PENDING)
    lines.report.at = float("inf")  # the period is never over
    lines.report.show(DONE)
    assert lines.events() == ["arena Created: a load balancer"]
    lines.report.catch_up()
    assert lines.events() == ["arena Created: a load balancer", "arena Active: it is there"]
    printed = lines.out.getvalue()
    lines.report.close()
    assert lines.out.getvalue() == printed


@pytest.mark.parametrize("calls", [1, 2])
def test_the_end_prints_the_last_picture_once(calls: int) -> None:
    lines = Lines()
    lines.report.at = float("inf")
    lines.report.show(DONE)
    assert lines.events() == []
    for _ in range(calls):
        lines.report.close()
    assert lines.events() == ["arena Created: a load balancer", "arena Active: it is there"]


def test_a_report_without_a_picture_ends_without_a_line() -> None:
    lines = Lines()
    lines.report.close()
    assert lines.out.getvalue() == ""
