"""Check docs/protocols.md: each rule is defined once there, a test cites it by its name, and no other rule is cited.

A rule is a row of a table: its name, what holds, what goes wrong without it, and tests as `path::name`. A text cites it
by the word Rule, its name and a colon or full stop (several names after Rules, with commas or "and"), or anywhere by
the word rule and its name in backticks.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from scripts.sources import sources

PAGE: Final = "docs/protocols.md"
ROW: Final = re.compile(r"^\| `(?P<name>[a-z][a-z-]*)` \|(?P<cells>.*)\|$", re.MULTILINE)
TEST: Final = re.compile(r"`(?P<path>tests/[\w/]+\.py)::(?P<name>\w+(?:::\w+)?)`")
_NAMES: Final = r"{name}(?:(?:,\s+|\s+and\s+){name})*"
SENTENCE: Final = re.compile(r"\bRules?\s+(" + _NAMES.format(name="[a-z][a-z-]*") + r")[.:]")
QUOTED: Final = re.compile(r"\b[Rr]ules?\s+(" + _NAMES.format(name="`[a-z][a-z-]*`") + ")")


@dataclass(frozen=True)
class ProtocolRule:
    """A rule, and its tests as `path::name`."""

    name: str
    tests: tuple[str, ...]


def rules_of(page: str) -> list[ProtocolRule]:
    """Return the rules of the page."""
    return [
        ProtocolRule(row["name"], tuple(f"{test['path']}::{test['name']}" for test in TEST.finditer(row["cells"])))
        for row in ROW.finditer(page)
    ]


def cited(text: str) -> set[str]:
    """Return the names of the rules that a text cites."""
    lists = [match[1] for pattern in (SENTENCE, QUOTED) for match in pattern.finditer(text)]
    return {name.strip("`") for names in lists for name in re.split(r",\s+|\s+and\s+", names)}


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def docstring_of(root: Path, test: str) -> str | None:
    """Return the docstring of a test, '' if it has none, or None if there is no such test."""
    path, *names = test.split("::")
    if not (root / path).is_file():
        return None
    node: ast.Module | ast.ClassDef | ast.FunctionDef = _tree(root / path)
    for name in names:
        inside = (child for child in node.body if isinstance(child, ast.ClassDef | ast.FunctionDef))
        child = next((child for child in inside if child.name == name), None)
        if child is None:
            return None
        node = child
    return ast.get_docstring(node) or "" if isinstance(node, ast.FunctionDef) else None


def offences(root: Path) -> Iterator[str]:
    """Yield a line for each fault."""
    rules = rules_of((root / PAGE).read_text(encoding="utf-8"))
    names = [rule.name for rule in rules]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{PAGE}: rule `{name}` is defined more than once"
    for rule in rules:
        yield from _unproven(root, rule)
    for where, text in _texts(root):
        for name in sorted(cited(text) - set(names)):
            yield f"{where}: rule `{name}` is not in {PAGE}"


def _unproven(root: Path, rule: ProtocolRule) -> Iterator[str]:
    docstrings = {test: docstring_of(root, test) for test in rule.tests}
    for test in (test for test, text in docstrings.items() if text is None):
        yield f"{PAGE}: rule `{rule.name}`: there is no {test}"
    if not any(rule.name in cited(text) for text in docstrings.values() if text):
        yield f"{PAGE}: rule `{rule.name}`: no test of its row cites it"


def _texts(root: Path) -> Iterator[tuple[str, str]]:
    for suffix in (".py", ".lua"):
        yield from sources(root, suffix)
    yield from sources(root, ".md", ("docs",))


def main(root: Path) -> int:
    """Return the exit status: 0 when no rule is missing, doubled or without a test."""
    faults = list(offences(root))
    for line in faults:
        print(line)
    print(f"protocols: {len(faults) or 'ok'}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent.parent))
