"""Checks that each Lua script is short and begins with its header: purpose, KEYS, ARGV, returns.

A script's arguments are positions in two arrays, so its header is the only signature that it has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scripts.sources import sources

SCRIPT_LINES: Final = 60
HEADER: Final = re.compile(r"\A(?:--\[\[(?P<block>.*?)\]\]|(?P<lines>(?:--[^\n]*\n)+))", re.DOTALL)
PURPOSE: Final = re.compile(r"\w+ \S+")
PARTS: Final = ("KEYS", "ARGV", "Returns")


def offences(root: Path) -> Iterator[str]:
    for path, text in sources(root, ".lua"):
        yield from faults_of(path, text)


def header_of(text: str) -> str:
    """Return the comment at the beginning of the script without its marks, '' if there is none."""
    comment = HEADER.match(text)
    if not comment:
        return ""
    return (comment["block"] or re.sub(r"^-- ?", "", comment["lines"], flags=re.MULTILINE)).strip()


def faults_of(path: str, text: str) -> Iterator[str]:
    """One line for each part that the script lacks. A head is shared by scripts and answers nothing itself."""
    lines, header = len(text.splitlines()), header_of(text)
    if lines > SCRIPT_LINES:
        yield f"{path}: {lines} lines, at most {SCRIPT_LINES}"
    if not PURPOSE.match(header):
        yield f"{path}: begins with no comment that says its purpose"
    for part in PARTS[:1] if path.endswith("head.lua") else PARTS:
        if not re.search(rf"\b{part}\b", header, re.IGNORECASE):
            yield f"{path}: the header does not say {part}"
