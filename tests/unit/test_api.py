"""docs/api.md has the public names of the client and no others, and the versions of Python that the metadata allow."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet

from berthmaster import client, events, runner
from compose.sandbox.environment import variables
from compose.sandbox.jobs import NAMESPACE, POOL

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "api.md").read_text(encoding="utf-8")
EXAMPLE = (REPOSITORY / "compose" / "runner_example" / "app.py").read_text(encoding="utf-8")
PROGRAM = re.compile(r'Request\("[\w-]+", "([\w/-]+)", "(\w+)"')


def section(title: str) -> str:
    return re.split(r"\n#+ ", PAGE.split(f"{title}\n", 1)[1], maxsplit=1)[0]


def names_in(title: str) -> list[str]:
    return re.findall(r"^\| `(\w+)` \|", section(title), re.MULTILINE)


def requires_python(folder: Path) -> SpecifierSet:
    described: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    return SpecifierSet(described["project"]["requires-python"])


@pytest.mark.row("ST-04")
def test_the_program_of_the_page_fits_the_sandbox() -> None:
    (pool, task), variable = PROGRAM.findall(PAGE)[0], re.findall(r'os.environ\["(\w+)"\]', PAGE)[0]
    assert pool == f"{NAMESPACE}/{POOL}"
    assert f'name="{task}")' in EXAMPLE
    assert variable in variables(Path(), "redis://r", Path(), "http://a")


@pytest.mark.row("ST-04")
@pytest.mark.parametrize("module", [client, runner, events], ids=lambda module: str(module.__name__))
def test_the_page_has_exactly_the_names_that_a_module_exports(module: ModuleType) -> None:
    assert sorted(names_in(f"### `{module.__name__}`")) == sorted(module.__all__)
    assert [name for name in [*module.__all__, "Missing"] if not hasattr(module, name)] == ["Missing"]


@pytest.mark.row("ST-04")
def test_the_page_has_exactly_the_public_methods_of_fleet() -> None:
    methods = [name for name, value in vars(client.Fleet).items() if callable(value) and not name.startswith("_")]
    assert sorted(names_in("### Methods of `Fleet`")) == sorted(methods)


@pytest.mark.row("ST-07")
def test_the_page_has_the_versions_of_python_that_the_metadata_allow() -> None:
    rows = re.findall(
        r"^\| (3\.\d+) \| (.*?) \| (.*?) \|$", section("## Versions of Python and dependencies"), re.MULTILINE
    )
    assert [version for version, *_ in rows] == ["3.11", "3.12", "3.13", "3.14"]
    sides = {"client": REPOSITORY / "berthmaster", "server": REPOSITORY}
    for version, *words in rows:
        allowed = [requires_python(folder).contains(version) for folder in sides.values()]
        assert [word != "not allowed yet" for word in words] == allowed
