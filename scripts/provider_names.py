"""Check that only a provider's own package and the two registrations name the provider.

An identifier, an import or a lower-case word of a string that names a provider elsewhere is knowledge that a second
provider would have to repeat. Texts for people may say AWS.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from domain.port_pools.providers import PROVIDERS
from scripts.sources import sources
from scripts.words import PART
from workers.cloud.providers import LOGGERS

TREES: Final = ("berthmaster", "domain", "events", "workers")
PACKAGE: Final = re.compile("workers/cloud/[a-z_]+/")
REGISTRATIONS: Final = ("domain/port_pools/providers.py", "workers/cloud/providers.py")
NAMES: Final = frozenset({*(row.name for row in PROVIDERS), *LOGGERS, "boto", "elb", "elbv2", "nlb"})
WORD: Final = re.compile(r"[a-z0-9]+")


def offences(root: Path) -> Iterator[str]:
    """Yield a line for each name of a provider that stands outside its package and the registrations."""
    for path, text in sources(root, ".py", TREES):
        if not PACKAGE.match(path) and path not in REGISTRATIONS:
            for line, name in sorted(set(_named(ast.parse(text)))):
                yield f"{path}:{line}: {name} names a provider of load balancers: {' and '.join(REGISTRATIONS)} may"


def _named(tree: ast.AST) -> Iterator[tuple[int, str]]:
    docstrings = set(_docstrings(tree))
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield from ((line, name) for _ in _providers_in(name))
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield from ((line, name) for _ in _providers_in(name))
            case ast.ImportFrom(module=str(name)) | ast.alias(name=name):
                yield from ((line, name) for _ in _providers_in(name))
            case ast.Constant(value=str(text)) if id(node) not in docstrings:
                yield from ((line, word) for word in WORD.findall(text) if word in NAMES)


def _providers_in(identifier: str) -> set[str]:
    parts = {part.lower() for part in PART.findall(identifier)} | set(WORD.findall(identifier.lower()))
    return parts & NAMES


def _docstrings(tree: ast.AST) -> Iterator[int]:
    """Yield the ids of strings that stand alone as statements."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield id(node.value)
