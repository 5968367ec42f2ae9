"""Our wheels, built from copies of the tree, and folders in which nothing is installed but what a wheel asks for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

REPOSITORY: Final = Path(__file__).parents[2]
SERVER: Final = ("pyproject.toml", "README.md", "LICENSE", "domain", "events", "workers", "compose")
"""What the build of the server reads."""
LEFT_OUT: Final = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
BUILD: Final = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
NAMES: Final = ("workers", "events", "domain", "compose", "tests")
"""Packages of this repository, which a service may have as well."""


def client_wheel(folder: Path) -> Path:
    """The wheel of `berthmaster`, which other services install."""
    source = folder / "source"
    shutil.copytree(REPOSITORY / "berthmaster", source, ignore=LEFT_OUT, copy_function=shutil.copy)
    return _built(source, folder)


def server_wheel(folder: Path) -> Path:
    """The wheel of `berthmaster-server`."""
    source = folder / "source"
    source.mkdir(parents=True)
    for name in SERVER:
        path = REPOSITORY / name
        if path.is_dir():
            shutil.copytree(path, source / name, ignore=LEFT_OUT, copy_function=shutil.copy)
        else:
            shutil.copy(path, source)
    return _built(source, folder)


def _built(source: Path, folder: Path) -> Path:
    """A copy has times of its own: only SOURCE_DATE_EPOCH makes two wheels equal."""
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
    command = [sys.executable, "-c", BUILD, str(folder)]
    done = subprocess.run(command, cwd=source, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [wheel] = folder.glob("*.whl")
    return wheel


def metadata(wheel: Path, folder: Path) -> Distribution:
    """Unpacks the wheel into the folder; what its metadata says."""
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
    [described] = folder.glob(f"{wheel.name.split('-')[0]}-*.dist-info")
    return Distribution.at(described)


def requirements(described: Distribution, extra: str) -> set[str]:
    """Names of all distributions that this one needs with the extra, and those that these need."""
    names: set[str] = set()
    pending = [(described, extra)]
    while pending:
        needy, wanted_extra = pending.pop()
        for text in needy.requires or ():
            requirement = Requirement(text)
            applies = not requirement.marker or requirement.marker.evaluate({"extra": wanted_extra})
            if applies and requirement.name not in names:
                names.add(requirement.name)
                pending += [(distribution(requirement.name), name) for name in ("", *requirement.extras)]
    return names


def bare_environment(folder: Path, wheel: Path, extra: str = "") -> Path:
    """A folder with the wheel, with what its metadata asks for and nothing else, and with packages of a service."""
    for name in requirements(metadata(wheel, folder), extra):
        for file in distribution(name).files or ():
            if ".." not in file.parts and "__pycache__" not in file.parts:
                target = folder / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(Path(str(file.locate())), target)
    for name in NAMES:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("OWNER = 'the service'\n")
    return folder


def bare_python(folder: Path, *arguments: str) -> Sequence[str]:
    """Without site-packages and the current folder: what is not in the folder is not there.

    `env` passes the folder on to children.
    """
    return ["env", f"PYTHONPATH={folder}", sys.executable, "-S", "-P", "-B", *arguments]
