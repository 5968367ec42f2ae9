"""The shell completes our commands and options."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.command_line import commands

BIN = Path(sys.executable).parent
BASH = shutil.which("bash") or ""
ASKED = """
COMP_WORDS=({words}) COMP_CWORD={at}
_berthmaster_completion berthmaster
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def bash(script: str, home: Path) -> str:
    """What a shell prints whose home is empty and which finds our program."""
    environment = {"HOME": str(home), "PATH": f"{BIN}:{os.environ['PATH']}", "SHELL": BASH}
    done = subprocess.run([BASH, "-c", script], env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def completed(home: Path, source: str, *words: str) -> list[str]:
    """What the last of the words may become."""
    asked = ASKED.format(words=" ".join([*words[:-1], f"'{words[-1]}'"]), at=len(words) - 1)
    return bash(f"{source}\n{asked}", home).split()


@pytest.mark.skipif(not BASH, reason="there is no bash here")
def test_what_is_installed_completes_commands_and_options_in_bash(tmp_path: Path) -> None:
    bash("berthmaster --install-completion; exit", tmp_path)  # a last command would replace the shell that it looks for
    source = '. "$HOME/.bashrc"'
    assert completed(tmp_path, source, "berthmaster", "expl") == ["explain"]
    kinds = {each.name.split(" ")[2] for each in commands() if each.name.startswith("berthmaster explain ")}
    assert set(completed(tmp_path, source, "berthmaster", "explain", "")) == kinds
    assert completed(tmp_path, source, "berthmaster", "audit", "--dr") == ["--dry-run"]


@pytest.mark.skipif(not BASH, reason="there is no bash here")
def test_what_is_shown_completes_as_well_and_installs_nothing(tmp_path: Path) -> None:
    assert completed(tmp_path, 'eval "$(berthmaster --show-completion)"', "berthmaster", "doc") == ["doctor"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("shell", "asked", "found"),
    [
        ("zsh", {"_TYPER_COMPLETE_ARGS": "berthmaster expl"}, '"explain"'),
        ("fish", {"_TYPER_COMPLETE_ARGS": "berthmaster expl", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}, "explain"),
    ],
)
def test_zsh_and_fish_are_answered(shell: str, asked: dict[str, str], found: str) -> None:
    """By their own protocols, without the shells."""
    environment = {**os.environ, **asked, "_BERTHMASTER_COMPLETE": f"complete_{shell}"}
    done = subprocess.run([BIN / "berthmaster"], env=environment, check=False, capture_output=True, text=True)
    assert found in done.stdout, done.stderr
