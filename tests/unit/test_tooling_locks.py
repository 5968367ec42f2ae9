"""What images install: everything that is asked for, in one version, with the hashes of its files and no address."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

REPOSITORY = Path(__file__).parents[2]
PINNED = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^ ;]+)", re.MULTILINE)
IMAGES = {"flower": "flower", "tracing": "flower,tracing", "sandbox": "sandbox"}
"""Name of a lock -> extras of the server that it has."""
LOCKS = (*IMAGES, "build")


def text(lock: str) -> str:
    return (REPOSITORY / "deploy" / "image" / f"{lock}.txt").read_text(encoding="utf-8")


def pinned(lock: str) -> dict[str, list[Version]]:
    versions: dict[str, list[Version]] = {}
    for found in PINNED.finditer(text(lock)):
        versions.setdefault(canonicalize_name(found["name"]), []).append(Version(found["version"]))
    return versions


def asked_for(extras: str) -> Iterator[Requirement]:
    """The requirements of the server and its extras, with those of our own distributions in their place."""
    files = {"berthmaster": "berthmaster/pyproject.toml", "berthmaster-server": "pyproject.toml"}
    pending = [Requirement(f"berthmaster-server[{extras}]")]
    while pending:
        requirement = pending.pop()
        if requirement.name not in files:
            yield requirement
            continue
        described = tomllib.loads((REPOSITORY / files[requirement.name]).read_text(encoding="utf-8"))["project"]
        optional = described["optional-dependencies"]
        pending += map(Requirement, [*described["dependencies"], *(e for x in requirement.extras for e in optional[x])])


@pytest.mark.row("ST-20")
@pytest.mark.parametrize("lock", IMAGES)
def test_what_is_asked_for_is_pinned_in_a_version_that_is_allowed(lock: str) -> None:
    versions = pinned(lock)
    for requirement in asked_for(IMAGES[lock]):
        allowed = versions.get(canonicalize_name(requirement.name), [])
        assert any(requirement.specifier.contains(version) for version in allowed), f"{requirement}: make lock"


@pytest.mark.row("ST-20")
def test_what_builds_our_wheels_is_pinned() -> None:
    for file in ("pyproject.toml", "berthmaster/pyproject.toml"):
        build = tomllib.loads((REPOSITORY / file).read_text(encoding="utf-8"))["build-system"]
        for requirement in map(Requirement, build["requires"]):
            assert any(requirement.specifier.contains(version) for version in pinned("build")[requirement.name])


@pytest.mark.row("ST-20")
@pytest.mark.parametrize("lock", LOCKS)
def test_each_version_has_hashes_and_nothing_has_an_address(lock: str) -> None:
    entries = re.split(r"\n(?=\S)", text(lock).strip())
    assert entries
    for entry in entries:
        assert PINNED.match(entry), entry
        assert "--hash=sha256:" in entry, entry
    assert "://" not in text(lock)
    assert "--index" not in text(lock)
