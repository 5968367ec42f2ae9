"""What the page of one object shows: facts, tables and texts. One script of ours draws every such page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import quote

from domain.visible import visible, visible_line

Cell = str | dict[str, str]
"""A text, or a text with the path of a page."""
MOST: Final = 500
"""How many rows of a table are shown."""
Held = tuple[int, str, str]
"""Number of a cell, from 0 over all groups; who has it, in words; and the path of their page."""


@dataclass
class Document:
    """The page of an object. `actions`: what may be done with it, for people who may decide."""

    title: str
    facts: list[tuple[str, Cell]] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)
    texts: list[dict[str, str]] = field(default_factory=list)
    actions: dict[str, Any] = field(default_factory=dict)
    chart: dict[str, Any] | None = None
    strips: list[dict[str, Any]] = field(default_factory=list)

    def without_actions(self) -> Document:
        """Return the same for somebody who may only look."""
        return replace(self, actions={})

    def fact(self, name: str, *values: object) -> None:
        """Add a fact; without a value that says something it is left out."""
        text = ", ".join(str(value) for value in values if value not in (None, ""))
        if text:
            self.facts.append((visible_line(name), visible_line(text)))

    def lines(self, lines: Iterable[str]) -> None:
        """Add lines of text as the command line prints them: what stands before a colon is the name of a fact."""
        for text in map(str.strip, lines):
            name, colon, value = text.partition(": ")
            self.fact(name if colon else "", value if colon else text)

    def table(self, caption: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]], most: int = MOST) -> None:
        """Add a table. Of more than `most` rows it shows the first, and how many there are."""
        shown = [list(row) for row in rows]
        more = len(shown) - most
        caption = f"{caption} (the first {most} of {len(shown)})" if more > 0 else caption
        self.tables.append({"caption": caption, "columns": list(columns), "rows": shown[:most]})

    def strip(
        self, kind: str, label: str, groups: Iterable[str], held: Iterable[Held], path: str | None = None
    ) -> None:
        """Add a picture of cells. `kind`: ports or slots; `groups`: a letter a cell; `path`: of its label's page."""
        names = [[place, visible_line(words), page] for place, words, page in held]
        self.strips.append({"kind": kind, "label": label, "path": path, "groups": list(groups), "held": names})

    def text(self, title: str, text: str) -> None:
        """Add a text from outside; what steers a terminal, or hides or reorders text, is shown as an escape."""
        self.texts.append({"title": title, "text": visible(text)})


def path_to(*parts: str) -> str:
    """Return the path of an object's page below `/fleet`."""
    return "/" + "/".join(quote(name, safe="") for part in parts for name in part.split("/"))


def page_of(kind: str, name: str, text: str | None = None) -> Cell:
    """Return a link to the page of an object."""
    return {"text": visible_line(text or name), "path": path_to(kind, name)}


def line(text: object) -> str:
    """Return a text from outside for one cell."""
    return visible_line("" if text is None else str(text))
