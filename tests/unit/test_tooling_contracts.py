"""The rules of the repository hold for all of it, not only for what somebody remembered to list."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
TOOL: dict[str, Any] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]


def packages() -> set[str]:
    """The top-level packages of the repository."""
    return {path.parent.name for path in REPOSITORY.glob("*/__init__.py")}


def test_every_package_has_a_layer_or_is_not_shipped() -> None:
    assert packages() == {*TOOL["importlinter"]["root_packages"], "tests", "scripts"}


def test_the_layers_are_in_the_one_order() -> None:
    layers = next(c for c in TOOL["importlinter"]["contracts"] if c["name"].endswith("never back"))["layers"]
    assert layers == ["compose", "workers", "events", "domain", "berthmaster"]


@pytest.mark.parametrize("package", ["berthmaster", "domain", "events", "workers"])
def test_a_new_module_must_be_given_a_place(package: str) -> None:
    mine = [c for c in TOOL["importlinter"]["contracts"] if c.get("containers") == [package]]
    assert [c["exhaustive"] for c in mine] == [True]


def test_every_package_is_typed() -> None:
    assert set(TOOL["mypy"]["files"]) == packages()
    assert TOOL["mypy"]["strict"]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("from datetime import datetime\n\nx = datetime.now()\n", "TID251"),
        ("from datetime import datetime\n\nx = datetime.utcnow()\n", "TID251"),
        ("import time\n\nx = time.time()\n", "TID251"),
        ("from time import monotonic\n\nx = monotonic()\n", "TID251"),
        ("import random\n\nx = random.random()\n", "TID251"),
        ("from uuid import uuid4\n\nx = uuid4()\n", "TID251"),
        ("import os\n\nx = os.urandom(8)\n", "TID251"),
        ("import secrets\n\nx = secrets.token_hex()\n", "TID251"),
    ],
)
def test_the_domain_may_not_look_at_a_clock_or_take_a_chance(statement: str, said: str) -> None:
    assert said in linted("domain/ports/probe.py", statement)


@pytest.mark.row("TM-04")
@pytest.mark.parametrize("package", ["events", "workers/pod_pools", "compose/sandbox"])
@pytest.mark.parametrize(
    "look", ["from datetime import UTC, datetime\n\nx = datetime.now(UTC)\n", "import time\n\nx = time.time()\n"]
)
def test_one_module_alone_looks_at_the_wall_clock(package: str, look: str) -> None:
    assert "TID251" in linted(f"{package}/probe.py", look)
    assert "TID251" not in linted("berthmaster/clock.py", look)


def linted(file: str, statement: str) -> str:
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format", "concise"]
    command += ["--stdin-filename", file, "-"]
    source = '"""A probe."""\n\n' + statement
    answer = subprocess.run(command, input=source, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    return answer.stdout
