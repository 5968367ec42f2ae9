"""Tests test what is shipped: they reach it by imports, and none of them carries a copy of the logic that it judges."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = ("berthmaster", "domain", "events", "workers", "compose", "scripts")
LONG_ENOUGH = 250
"""Characters of a syntax tree from which on two equal functions are no chance: three short statements or so."""


def sources(*packages: str) -> Iterator[Path]:
    for package in packages:
        yield from sorted((ROOT / package).rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported(path: Path) -> frozenset[str]:
    """Modules by their full names; of `from a import b` also `a.b`."""
    found: set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{name.name}" for name in node.names}
    return frozenset(found)


def reaches_us(path: Path) -> bool:
    """Also through helpers, and fixtures of a conftest or of the whole tree beside it."""
    seen, open_ = set[Path](), [path, *(folder / "conftest.py" for folder in path.parents)]
    while open_:
        now = open_.pop()
        if now in seen or not now.exists():
            continue
        seen.add(now)
        names = imported(now)
        if now != ROOT / "tests" / "conftest.py" and any(name.split(".")[0] in OURS for name in names):
            return True
        open_ += [ROOT / f"{name.replace('.', '/')}.py" for name in names if name.startswith("tests.")]
    return False


def bodies(*packages: str) -> dict[str, list[str]]:
    """What functions do, without their names and docstrings -> where."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sources(*packages):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef) and (text := body_of(node)):
                found[text].append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    return found


def body_of(node: ast.FunctionDef) -> str:
    """'' for what is too short to be a copy."""
    rest = node.body[1:] if ast.get_docstring(node) is not None else node.body
    text = "\n".join(ast.dump(statement) for statement in rest)
    return text if len(text) >= LONG_ENOUGH else ""


def modules_of_tests() -> list[Path]:
    """But those about our tools, and about models of protocols."""
    named = [path for path in sources("tests") if path.name.startswith("test_") and "tooling" not in path.name]
    return [path for path in named if not any(name.startswith("tests.models") for name in imported(path))]


@pytest.mark.row("EV-22")
def test_each_test_module_reaches_what_is_shipped() -> None:
    """In one test: the trees of all modules, read when tests are collected, took each process seconds."""
    modules = modules_of_tests()
    assert len(modules) > 400
    assert [str(path.relative_to(ROOT)) for path in modules if not reaches_us(path)] == []


@pytest.mark.row("EV-22")
def test_no_test_carries_a_copy_of_a_function_that_is_shipped() -> None:
    shipped, ours = bodies("berthmaster", "domain", "workers"), bodies("tests")
    assert {where: shipped[text] for text, places in ours.items() if text in shipped for where in places} == {}


@pytest.mark.row("EV-22")
def test_a_copy_is_found_whatever_it_is_called() -> None:
    body = "    total = sum(each.ports for each in wants)\n    if total > 50:\n        raise ValueError(total)\n"
    pair = [ast.parse(f"def {name}(wants):\n{doc}{body}").body[0] for name, doc in (("a", ""), ("b", "    'Says.'\n"))]
    texts = {body_of(node) for node in pair if isinstance(node, ast.FunctionDef)}
    assert len(texts) == 1
    assert texts != {""}


def test_make_check_has_a_test_of_each_feature_and_each_exists() -> None:
    lines = (ROOT / "tests/check.txt").read_text(encoding="utf-8").split()
    for path, _, name in (line.partition("::") for line in lines):
        functions = {
            node.name
            for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
            if isinstance(node, ast.FunctionDef)
        }
        assert not name or name in functions, path
    features = {line.split("/")[2] for line in lines}
    assert features >= {
        "publisher",
        "workqueue",
        "ledger",
        "ports",
        "slots",
        "runner",
        "pod_pools",
        "claims",
        "claim_sets",
    }
