"""Checks that the metadata of Kubernetes objects is read and built in one package, domain/kubernetes.

Anybody else takes a typed view, so that what stands for a missing field is decided once.
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
    for path, text in sources(root, ".py", TREES):
        if not path.startswith(ALLOWED):
            yield from faults_of(path, text)


def faults_of(path: str, text: str) -> Iterator[str]:
    """Yield a line for each use of the field: as a subscript, an argument, or a key of a dictionary."""
    for node in ast.walk(ast.parse(text, path)):
        if isinstance(node, ast.Constant) and node.value == FIELD:
            yield f"{path}:{node.lineno}: take a view of domain.kubernetes.objects instead of {FIELD!r}"
