"""Draw the live view as an SVG picture for the documentation: `berthmaster sandbox --once --picture FILE`."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Final

from rich.console import Console, RenderableType

WIDTH: Final = 124
"""Columns of the picture: enough for the longest line of a usual view."""
FONT: Final = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)


def draw(view: RenderableType, file: Path) -> None:
    """Write `view` as SVG to `file`, without fonts from the internet. Raises OSError."""
    console = Console(file=io.StringIO(), record=True, width=WIDTH, force_terminal=True, color_system="truecolor")
    console.print(view)
    picture = FONT.sub("", console.export_svg(title="make sandbox", unique_id="sandbox"))
    file.write_text("".join(f"{line.rstrip()}\n" for line in picture.splitlines()), encoding="utf-8")
