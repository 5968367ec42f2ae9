"""What we import is what we declare: a package that comes along with another may stay away with its next version."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
OURS = {"berthmaster", "domain", "events", "workers", "compose", "tests", "scripts"}
PINNED_BY = {"pydantic-core": "pydantic", "mypy-boto3-elbv2": "boto3-stubs-lite"}  # exact versions, not ours to choose
EXTRAS = {
    "berthmaster": ["runner", "tracing"],
    "domain": [],
    "events": [],
    "workers": ["flower"],
    "compose": ["sandbox"],
}
EXTRAS |= {"tests": ["flower", "sandbox", "tracing", "docs", "dev"], "scripts": ["sandbox", "docs", "dev"]}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def project(package: str) -> dict[str, Any]:
    """Of the distribution that ships the package."""
    folder = REPOSITORY / "berthmaster" if package == "berthmaster" else REPOSITORY
    described: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return described


def declared(package: str) -> set[str]:
    """The distributions that the package may import from. A server's own requirements include those of the client."""
    described, extras = project(package), EXTRAS[package]
    optional = described["optional-dependencies"]
    requirements = [*described["dependencies"], *(each for extra in extras for each in optional[extra])]
    if any(requirement.startswith("berthmaster[tracing]") for requirement in requirements):
        requirements += project("berthmaster")["optional-dependencies"]["tracing"]
    return {normal(re.split(r"[\[<>=!~ ;]", requirement, maxsplit=1)[0]) for requirement in requirements}


def imported(package: str) -> Iterator[str]:
    """The top-level modules of other people that run when the package does; what only types need is left out."""
    for path in (REPOSITORY / package).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        for block in ast.walk(tree) if "TYPE_CHECKING" in text else ():
            if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test):
                block.body = []
        for node in ast.walk(tree):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            yield from (name.partition(".")[0] for name in names)


@pytest.fixture(scope="module")
def known() -> Mapping[str, list[str]]:
    return packages_distributions()


@pytest.mark.parametrize("package", sorted(OURS))
def test_every_import_is_a_declared_dependency(package: str, known: Mapping[str, list[str]]) -> None:
    allowed = declared(package)
    others = set(imported(package)) - OURS - set(sys.stdlib_module_names)
    missing = set()
    for module in others:
        distributions = {normal(name) for name in known.get(module, [module])}
        if not {PINNED_BY.get(name, name) for name in distributions} & allowed:
            missing.add(module)
    assert missing == set()
