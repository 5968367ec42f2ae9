"""What a terminal shows while the sandbox runs."""

from __future__ import annotations

import io
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console
from rich.text import Text

from compose.sandbox.drawing import draw
from compose.sandbox.live import Screen
from compose.sandbox.picture import BalancerUse, Picture, Pool
from domain.ports.pod import PodView

PODS = {name: PodView("games", name, f"uid-{name}", 1, {}) for name in "abc"}
SEEN = Picture(PODS, Pool("Active", 1, 0, (BalancerUse("bm-arena-0", 1, 50), BalancerUse("bm-arena-1", 0, 50))))


@pytest.mark.parametrize("width", [80, 100, 150])
def test_each_bar_has_a_line_of_its_own(width: int) -> None:
    out = io.StringIO()
    screen = Screen(Console(file=io.StringIO(), width=width), 0, 3)
    screen.close()
    screen.show(SEEN)
    Console(file=out, width=width, force_terminal=True, color_system="standard").print(screen.render())
    lines = Text.from_ansi(out.getvalue()).plain.splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["bm-arena-0", "bm-arena-1"]
    assert {*lines[1].strip()} <= {*"━╺╸"}


def test_a_picture_of_the_view_shows_its_text_and_needs_no_other_file(tmp_path: Path) -> None:
    screen = Screen(Console(file=io.StringIO()), 0, 3)
    screen.close()
    screen.show(SEEN)
    draw(screen.render(), tmp_path / "view.svg")
    picture = (tmp_path / "view.svg").read_text(encoding="utf-8")
    assert "bm-arena-0" in "".join(ElementTree.fromstring(picture).itertext())
    assert "url(http" not in picture


def test_what_follows_the_last_view_begins_on_a_line_of_its_own() -> None:
    out = io.StringIO()
    screen = Screen(Console(file=out), 0, 3)
    screen.show(SEEN)
    for _ in range(2):
        screen.close()
    assert out.getvalue().endswith("0/50\n")
