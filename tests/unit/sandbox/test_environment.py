"""The sandbox reaches nothing of its user's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from compose.sandbox.environment import cut_off, variables, write


def test_what_points_outside_is_left_behind() -> None:
    environ = {
        "PATH": "/bin",
        "BERTHMASTER_KUBERNETES__SERVER": "https://production",
        "AWS_PROFILE": "production",
        "KUBECONFIG": "/home/me/.kube/config",
    }
    cut_off(environ)
    assert environ == {"PATH": "/bin", "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}


def test_a_shell_reads_the_variables_as_they_are(tmp_path: Path) -> None:
    directory = tmp_path / "it's here"
    directory.mkdir()
    values = variables(directory, "redis://127.0.0.1:1/0", directory / "kubeconfig", "http://127.0.0.1:2")
    write(directory / "env", values)
    assert in_shell(directory / "env", 'printf %s "$KUBECONFIG"') == str(directory / "kubeconfig")


def test_a_shell_finds_the_command_of_this_environment_and_keeps_its_own(tmp_path: Path) -> None:
    write(tmp_path / "env", {})
    assert in_shell(tmp_path / "env", "command -v berthmaster") == f"{Path(sys.executable).parent / 'berthmaster'}\n"
    assert in_shell(tmp_path / "env", 'printf %s "${PATH#*:}"') == os.environ["PATH"]


def in_shell(env: Path, script: str) -> str:
    """What a shell says that has read the file."""
    command = ["sh", "-c", f'. "{env}"; {script}']
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
