"""The source files that are ours: the text of each, by its path from the root of the repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

BUILT: Final = "build"
"""A folder that `pip install ./berthmaster` leaves among the sources, with a copy of them."""
TREES: Final = ("berthmaster", "domain", "events", "workers", "compose", "tests", "scripts")


def sources(root: Path, suffix: str, trees: tuple[str, ...] = TREES) -> Iterator[tuple[str, str]]:
    """Yield path and text of each file that ends with `suffix`, sorted within a tree."""
    for tree in trees:
        for path in sorted((root / tree).rglob(f"*{suffix}")):
            name = path.relative_to(root)
            if BUILT not in name.parts:
                yield name.as_posix(), path.read_text(encoding="utf-8")
