"""Check that only the package domain/kubernetes reads and builds the metadata of Kubernetes objects.

Other packages take a typed view, so that the value of a missing field is decided once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scripts.sources import sources

TREES: Final = ("berthmaster", "domain", "events", "workers")
ALLOWED: Final = "domain/kubernetes/"
FIELD: Final = "metadata"


def offences(root: Path) -> Iterator[str]:
    """Yield a line for each use of the field outside domain/kubernetes."""
    for path, text in sources(root, ".py", TREES):
        if not path.startswith(ALLOWED):
            yield from faults_of(path, text)


def faults_of(path: str, text: str) -> Iterator[str]:
    """Yield a line for each use of the field: as a subscript, an argument, or a key of a dictionary."""
    for node in ast.walk(ast.parse(text, path)):
        if isinstance(node, ast.Constant) and node.value == FIELD:
            yield f"{path}:{node.lineno}: take a view of domain.kubernetes.objects instead of {FIELD!r}"
