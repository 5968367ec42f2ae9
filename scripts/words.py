"""Check that no identifier is one of the words that the glossary bans, and that class names are unique.

A past participle or a verb alone says what happened to a thing, not what the thing is. `python -m scripts.words` prints
each banned identifier with its place; `--count` prints their number by package.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scripts.sources import sources

TREES: Final = ("berthmaster", "domain", "events", "workers", "compose", "scripts")
_ALONE: Final = """
    acting care closing each found known leaving look looking made one seen showing sight standing taking turn turns
    watching world
"""
ALONE: Final = frozenset(_ALONE.split())
"""Banned as a whole identifier, and allowed as a part of a longer name."""
_ANYWHERE: Final = """
    aside caring cartographer dress foresee foreseeing foreseen growth heard knowing mending offering pacing
    remembering sought stocking story told undressed untold wanting wish
"""
ANYWHERE: Final = frozenset(_ANYWHERE.split())
"""Banned also as a part of a longer name."""
PART: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def is_banned(identifier: str) -> bool:
    """Return whether the identifier is a banned word, or has a word that is banned everywhere."""
    parts = [part.lower() for part in PART.findall(identifier)]
    return any(part in ANYWHERE for part in parts) or (len(parts) == 1 and parts[0] in ALONE)


def identifiers(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield every name that the source binds, with its line. A name that it only reads is bound elsewhere."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.MatchAs(name=str(name)):
                yield getattr(node, "lineno", 0), name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.Attribute(attr=name, ctx=ast.Store()) | ast.alias(asname=str(name)):
                yield node.lineno, name


def offences(root: Path) -> Iterator[str]:
    """Yield a line for each banned identifier and each repeated class name."""
    yield from banned(root)
    yield from duplicate_classes(root)


def banned(root: Path) -> Iterator[str]:
    """Yield a line for each banned identifier or module name."""
    for path, text in sources(root, ".py", TREES):
        yield from (f"{path}: the module's name is banned" for _ in "x" if is_banned(Path(path).stem))
        for line, name in identifiers(ast.parse(text)):
            if is_banned(name):
                yield f"{path}:{line}: {name} is a banned word: say what the thing is (docs/glossary.md)"


def duplicate_classes(root: Path) -> Iterator[str]:
    """Yield a line for each class name in several modules: readers would confuse the classes."""
    places: dict[str, list[str]] = {}
    for path, text in sources(root, ".py", TREES):
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(path)
    for name, paths in sorted(places.items()):
        if len(paths) > 1:
            yield f"class {name} stands in {', '.join(paths)}: names of classes are unique"


def main() -> int:
    """Return the exit status: 1 if there is a complaint."""
    root = Path()
    complaints = list(offences(root))
    if "--count" in sys.argv:
        print(*Counter("/".join(line.split(":")[0].split("/")[:2]) for line in complaints).most_common(), sep="\n")
    else:
        print(*complaints, sep="\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
