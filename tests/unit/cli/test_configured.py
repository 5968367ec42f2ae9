"""What a command says without settings."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from workers.cli.main import app

SOURCE = "Settings come from environment variables; docs/reference/settings.md lists them"
SANDBOX = "A sandbox runs here. To use its settings in this shell: . .sandbox/env"
COMMANDS = (("status",), ("doctor",), ("publisher",), ("worker",), ("beat",), ("explain", "pod", "games/a"))
ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, without settings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BERTHMASTER_CLUSTER", raising=False)
    return tmp_path


def refused(*command: str) -> list[str]:
    done = CliRunner().invoke(app, command)
    assert (done.exit_code, done.stdout) == (2, "")
    return done.stderr.splitlines()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_without_settings_says_which_one_is_missing_and_where_they_come_from(
    folder: Path, command: tuple[str, ...]
) -> None:
    (folder / ".sandbox").mkdir()
    assert refused(*command) == ["BERTHMASTER_CLUSTER: Field required", SOURCE]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_beside_a_sandbox_it_also_says_how_to_use_the_sandbox_s_settings(
    folder: Path, command: tuple[str, ...]
) -> None:
    (folder / ".sandbox").mkdir()
    (folder / ".sandbox" / "env").write_text("export BERTHMASTER_CLUSTER=sandbox\n")
    assert refused(*command) == ["BERTHMASTER_CLUSTER: Field required", SOURCE, SANDBOX]


def test_the_help_says_where_settings_come_from() -> None:
    shown = re.sub(r"\s+", " ", CliRunner().invoke(app, []).output)
    assert "Settings come from environment variables BERTHMASTER_...; docs/reference/settings.md lists them." in shown


def test_the_version_is_that_of_the_package() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    done = CliRunner().invoke(app, ["--version"])
    assert (done.exit_code, done.output) == (0, f"berthmaster {version}\n")


def test_explain_knows_no_pool_without_its_kind() -> None:
    done = CliRunner().invoke(app, ["explain", "pool", "ci/runners"])
    assert (done.exit_code, "No such command 'pool'" in done.output) == (2, True)
