"""Measure files and functions against the limits of our style.

A limit that a machine measures needs no argument in review. Lengths are whole: docstrings, comments and blank lines
count. Each package has its own medians, so that one package of small files does not hide another's large ones.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from scripts.sources import TREES, sources

FILE_LINES: Final = 300
FUNCTION_LINES: Final = 40
MEDIAN_FILE_LINES: Final = 100
MEDIAN_FUNCTION_LINES: Final = 8
MEDIAN_TREES: Final = ("berthmaster", "domain", "events", "workers")


@dataclass(frozen=True)
class CodePart:
    """A file, or a function in it."""

    name: str
    lines: int


def functions_of(path: str, text: str) -> Iterator[CodePart]:
    """Yield each function of a file, nested ones too."""
    for node in _statements(ast.parse(text, path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            yield CodePart(f"{path}:{node.lineno} {node.name}", lines)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements within: no expression has a function with a name in it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from _statements(child)


def offences(root: Path) -> Iterator[str]:
    """Yield a line for each limit that is exceeded."""
    for tree in TREES:
        texts = dict(sources(root, ".py", (tree,)))
        files = [CodePart(path, len(text.splitlines())) for path, text in texts.items()]
        functions = [part for path, text in texts.items() for part in functions_of(path, text)]
        yield from too_long(files, FILE_LINES)
        yield from too_long(functions, FUNCTION_LINES)
        if tree in MEDIAN_TREES:
            modules = [file for file in files if not file.name.endswith("__init__.py")]
            yield from median_too_long(f"{tree}: median file", modules, MEDIAN_FILE_LINES)
            yield from median_too_long(f"{tree}: median function", functions, MEDIAN_FUNCTION_LINES)


def too_long(parts: Sequence[CodePart], limit: int) -> Iterator[str]:
    """Yield a line for each part above the limit."""
    for part in parts:
        if part.lines > limit:
            yield f"{part.name}: {part.lines} lines, at most {limit}"


def median_too_long(what: str, parts: Sequence[CodePart], limit: int) -> Iterator[str]:
    """Yield a line if the median of the parts is above the limit."""
    if parts and (middle := median(part.lines for part in parts)) > limit:
        yield f"{what}: {middle:g} lines, at most {limit}"
