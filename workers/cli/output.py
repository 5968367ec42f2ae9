"""Where every view is printed: what comes from outside is shown and never steers the terminal, nor rich.

Tables are as wide as the terminal, and as wide as it takes where there is none.
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
    """Takes a string as text: no markup, no emoji codes, no control characters. Styles are given beside the text."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Of each string that is printed, also in a cell, before its width is measured."""
        return super().render_str(visible_line(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Also of texts that were made without this console."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def console() -> Console:
    """A pipe cuts nothing: what is left out there is what somebody greps for."""
    terminal = InertConsole()
    return terminal if terminal.is_terminal else InertConsole(width=WIDE)


def say(*lines: str, err: bool = False) -> None:
    """Each on a line of its own, whatever is in it."""
    for line in lines:
        typer.echo(visible_line(line), err=err)  # noqa: TID251 - the one place


def say_json(document: Any) -> None:
    """Programs read what it was; people who look at it see what is in it."""
    typer.echo(visible(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()))  # noqa: TID251 - the one place
