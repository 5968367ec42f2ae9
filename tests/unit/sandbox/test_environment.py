"""The sandbox reaches nothing of its user's."""

from __future__ import annotations

import errno
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from compose.sandbox.__main__ import Course
from compose.sandbox.environment import cut_off, fleet_page, variables, write
from compose.sandbox.interruption import Interruption
from compose.sandbox.run import Options
from compose.sandbox.stack import Stack


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


@pytest.mark.row("UI-11")
def test_one_line_leads_to_the_fleet_with_user_and_password_and_is_a_comment_of_the_file(tmp_path: Path) -> None:
    page = fleet_page({"url": "http://127.0.0.1:5555", "user": "sandbox", "password": "word"})
    assert page == "the fleet: http://127.0.0.1:5555/fleet (user sandbox, password word)"
    write(tmp_path / "env", {"A": "b"}, page)
    assert (tmp_path / "env").read_text().splitlines()[0] == f"# {page}"
    assert in_shell(tmp_path / "env", 'printf %s "$A"') == "b"
    assert fleet_page({}) is None


@pytest.mark.row("UI-11")
@pytest.mark.parametrize("once", [True, False])
def test_the_sandbox_says_first_where_the_fleet_is(
    once: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stack = Stack(tmp_path)
    interruption = Interruption()
    interruption.note(signal.SIGINT, None)  # it ends with its first step
    assert Course(stack, Options(once=once), interruption, as_json=False, began=0.0).status() == 128 + signal.SIGINT
    said = capsys.readouterr().out.splitlines()
    assert said[0] == fleet_page(stack.flower_login)
    assert said[-1] == "Stopping all processes, which takes some seconds"


class Closed(io.StringIO):
    """A pipe whose reader is gone, or a terminal."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    def write(self, _text: str) -> int:
        raise self.error


@pytest.mark.parametrize("error", [BrokenPipeError(), OSError(errno.EIO, "gone")], ids=repr)
def test_nobody_who_reads_the_last_words_changes_no_exit_status(error: OSError, tmp_path: Path) -> None:
    course = Course(Stack(tmp_path), Options(), Interruption(), as_json=False, began=0.0)
    course.console.file = Closed(error)
    course.last_words("Stopping")


def in_shell(env: Path, script: str) -> str:
    """What a shell says that has read the file."""
    command = ["sh", "-c", f'. "{env}"; {script}']
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
