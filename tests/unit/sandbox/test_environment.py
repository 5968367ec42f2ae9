"""The sandbox reaches nothing of its user's."""

from __future__ import annotations

import subprocess
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
    script = f'. "{directory}/env"; printf %s "$KUBECONFIG"'
    assert subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True).stdout == str(
        directory / "kubeconfig"
    )
