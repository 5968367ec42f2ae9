"""The one place that prints. Text from outside is shown, but it never controls the terminal or rich.

Tables are as wide as the terminal, or `WIDE` where there is none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import orjson
import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from domain.visible import visible, visible_line

WIDE: Final = 300


class InertConsole(Console):
    """A console that prints strings as they are: without markup, emoji codes or control characters."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Make each string harmless, also in a cell, before rich measures its width."""
        return super().render_str(visible_line(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Make renderables harmless that were built without this console."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def console() -> Console:
    """Return a console. Into a pipe it truncates nothing, because somebody may grep for it."""
    terminal = InertConsole()
    return terminal if terminal.is_terminal else InertConsole(width=WIDE)


def say(*lines: str, err: bool = False) -> None:
    """Print each text on exactly one line, whatever it contains."""
    for line in lines:
        typer.echo(visible_line(line), err=err)  # noqa: TID251 - the one place


def say_json(document: Any) -> None:
    """Print JSON. Control characters are escaped, so programs read the original and people see it."""
    typer.echo(visible(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()))  # noqa: TID251 - the one place


def say_json_line(document: Any) -> None:
    """Print JSON on one line, escaped as by `say_json`."""
    typer.echo(visible_line(orjson.dumps(document).decode()))  # noqa: TID251 - the one place
