"""The rows of docs/checklist.md: our promises, by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROW: Final = re.compile(
    r"^\| (?P<name>[A-Z]{2}-\d{2}) \| (?P<behaviour>[^|]+) \| (?P<shown_by>[^|]+) \|$", re.MULTILINE
)
LATER: Final = "[later]"


@dataclass(frozen=True)
class ChecklistRow:
    """A row: name, promised behaviour, and how it is shown."""

    name: str
    behaviour: str
    shown_by: str

    @property
    def later(self) -> bool:
        """Whether the row is planned, but not for the first releases."""
        return LATER in self.behaviour


def rows_of(checklist: Path) -> Iterator[ChecklistRow]:
    """Yield the rows of the checklist file."""
    for match in ROW.finditer(checklist.read_text(encoding="utf-8")):
        yield ChecklistRow(match["name"], match["behaviour"].strip(), match["shown_by"].strip())
