"""What a terminal shows while the sandbox runs."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.text import Text

from compose.sandbox.live import Screen
from compose.sandbox.picture import Balancer, Picture, Pool
from domain.ports.pod import PodView

PODS = {name: PodView("games", name, f"uid-{name}", 1, {}) for name in "abc"}
SEEN = Picture(PODS, Pool("Active", 1, 0, (Balancer("bm-arena-0", 1, 50), Balancer("bm-arena-1", 0, 50))))


@pytest.mark.parametrize("width", [80, 100, 150])
def test_each_bar_has_a_line_of_its_own(width: int) -> None:
    out = io.StringIO()
    screen = Screen(Console(file=io.StringIO(), width=width), 0, 3)
    screen.close()
    screen.look(SEEN)
    Console(file=out, width=width, force_terminal=True, color_system="standard").print(screen.render())
    lines = Text.from_ansi(out.getvalue()).plain.splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["bm-arena-0", "bm-arena-1"]
    assert {*lines[1].strip()} <= {*"━╺╸"}
