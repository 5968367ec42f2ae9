"""Every event of the log, from the source: its level and its keys."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from scripts.sources import sources

ROOT: Final = Path(__file__).parents[2]
TREES: Final = ("berthmaster", "events", "workers")
LEVELS: Final = ("debug", "info", "warning", "error", "exception")


class Line(NamedTuple):
    event: str
    level: str
    keys: tuple[str, ...]
    module: str


@cache
def lines() -> tuple[Line, ...]:
    """Every call of a logger with an event in so many words, and its keys. Read once: each event has a test."""
    texts = [(path, text) for tree in TREES for path, text in sources(ROOT, ".py", (tree,))]
    return tuple(sorted(line for path, text in texts for line in _lines(path, ast.parse(text, path))))


def _lines(path: str, tree: ast.Module) -> Iterator[Line]:
    module = path.removesuffix(".py").replace("/", ".")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (level := _level(node.func)):
            keys = tuple(sorted(keyword.arg or "..." for keyword in node.keywords))
            yield from (Line(event, level, keys, module) for event in _events(node))


def _level(function: ast.expr) -> str:
    """'' for what is no logger."""
    if isinstance(function, ast.Name) and function.id == "say":
        return "info"
    if not isinstance(function, ast.Attribute) or function.attr not in LEVELS:
        return ""
    owner = function.value
    name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
    return function.attr if name == "log" else ""


def _events(call: ast.Call) -> Iterator[str]:
    first = call.args[0] if call.args else None
    options = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
    yield from (each.value for each in options if isinstance(each, ast.Constant) and isinstance(each.value, str))
