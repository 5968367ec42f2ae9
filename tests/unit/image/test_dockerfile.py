"""What the image is made of, as far as it can be seen without an engine; hadolint looks at the rest."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from dockerfile_parse import DockerfileParser

from tests.support.commands import unknown_words

REPOSITORY = Path(__file__).parents[3]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
PACKAGES = ("berthmaster", "domain", "events", "workers", "compose")
DOCKER_S = r"compose/(grafana/)?[a-z]+\.yaml"
SHIPPED = (".py", ".lua", ".json", ".yaml")
TOOLS = ("apt", "apk", "gcc", "pip", "curl", "wget")
SHOW = "import sys; from workers.cli.main import app; sys.argv[0] = 'berthmaster'; app()"


def instructions() -> list[tuple[str, str]]:
    parser = DockerfileParser(str(REPOSITORY / "Dockerfile"))
    return [(each["instruction"], each["value"]) for each in parser.structure if each["instruction"] != "COMMENT"]


def stages() -> list[list[tuple[str, str]]]:
    found: list[list[tuple[str, str]]] = []
    for name, value in instructions():
        found += [[]] if name == "FROM" else []
        if found:
            found[-1].append((name, value))
    return found


def of(stage: list[tuple[str, str]], instruction: str) -> list[str]:
    return [value for name, value in stage if name == instruction]


def test_the_last_stage_installs_nothing_and_is_nobody_s_root() -> None:
    build, last = stages()
    assert of(build, "RUN")
    assert of(last, "RUN") == []
    assert not any(tool in value.split() for _, value in last for tool in TOOLS)
    assert of(last, "USER") == ["10001:10001"]
    assert of(last, "WORKDIR") == ["/tmp"]


def test_the_base_is_pinned_to_a_version() -> None:
    arguments = dict(value.split("=", 1) for name, value in instructions() if name == "ARG")
    assert [of(stage, "FROM")[0].split(" ")[0] for stage in stages()] == ["python:${PYTHON}"] * 2
    assert arguments["PYTHON"].count(".") == 2
    assert arguments["VERSION"] == PROJECT["version"]


def test_signals_reach_the_process_and_its_command_is_known() -> None:
    _, last = stages()
    [entry], [command] = of(last, "ENTRYPOINT"), of(last, "CMD")
    assert (json.loads(entry), unknown_words(json.loads(command))) == (["berthmaster"], [])
    [check] = of(last, "HEALTHCHECK")
    assert unknown_words(json.loads(check.partition("CMD ")[2])[1:]) == []


@pytest.mark.row("ST-20")
def test_the_image_has_only_files_whose_hashes_are_known() -> None:
    commands = [command.strip() for run in of(stages()[0], "RUN") for command in run.split("&&") if "pip " in command]
    locked = [command for command in commands if " install " in command and "--no-index" not in command]
    assert locked
    assert all("--require-hashes -r" in command for command in locked)
    ours = [command for command in commands if command not in locked]
    assert all("--no-deps" in command for command in ours)
    assert all("--no-build-isolation" in command or "--no-index" in command for command in ours)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What pip installs from that which the build stage copies, and nothing else."""
    source, made = (tmp_path_factory.mktemp(name) for name in ("source", "made"))
    for copied in of(stages()[0], "COPY"):
        names = copied.replace("${EXTRAS}", "flower").split()[:-1]
        subprocess.run(["cp", "-r", *(REPOSITORY / name for name in names), source], check=True)
    pip: list[Any] = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", made]
    subprocess.run([*pip, source / "berthmaster", source], check=True, capture_output=True)
    wheels = sorted(made.glob("*.whl"))
    assert [wheel.name.partition("-")[0] for wheel in wheels] == ["berthmaster", "berthmaster_server"]
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(made)
    return made


def test_the_image_has_every_module_and_script_of_ours(installed: Path) -> None:
    def files(root: Path) -> set[str]:
        found = (path for package in PACKAGES for path in (root / package).rglob("*"))
        return {str(path.relative_to(root)) for path in found if path.suffix in SHIPPED}

    ours = {name for name in files(REPOSITORY) if not re.fullmatch(DOCKER_S, name)}
    assert ours - files(installed) == set()
    assert any(name.endswith(".lua") for name in ours)


def test_the_program_runs_from_what_is_installed(installed: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHOW, "--help"],
        cwd=installed,
        env={"PYTHONPATH": str(installed), "PATH": "/usr/bin:/bin"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert all(name in done.stdout for name in ("publisher", "worker", "beat", "flower", "doctor"))
    scripts = (next(installed.glob("berthmaster_server-*.dist-info")) / "entry_points.txt").read_text()
    assert "berthmaster = workers.cli.main:app" in scripts
