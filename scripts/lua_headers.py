"""Check that each Lua script begins with its header: purpose, KEYS, ARGV, returns.

A script's arguments are positions in two arrays, so its header is its only signature.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from scripts.sources import sources

HEADER: Final = re.compile(r"\A(?:--\[\[(?P<block>.*?)\]\]|(?P<lines>(?:--[^\n]*\n)+))", re.DOTALL)
PURPOSE: Final = re.compile(r"\w+ \S+")
PARTS: Final[tuple[str, ...]] = ("KEYS", "ARGV", "Returns")


def offences(root: Path) -> Iterator[str]:
    """Yield a line for each missing part of the repository's headers."""
    for path, text in sources(root, ".lua"):
        yield from faults_of(path, text)


def header_of(text: str) -> str:
    """Return the comment at the beginning of the script without its marks, '' if there is none."""
    comment = HEADER.match(text)
    if not comment:
        return ""
    return (comment["block"] or re.sub(r"^-- ?", "", comment["lines"], flags=re.MULTILINE)).strip()


def faults_of(path: str, text: str) -> Iterator[str]:
    """Yield a line for each missing part. A file in lib/ needs only its purpose."""
    header, parts = header_of(text), PARTS
    if PurePosixPath(path).parent.name == "lib":
        parts = ()
    if not PURPOSE.match(header):
        yield f"{path}: begins with no comment that says its purpose"
    for part in parts:
        if not re.search(rf"\b{part}\b", header, re.IGNORECASE):
            yield f"{path}: the header does not say {part}"
