"""What a runner says where it is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from celery import Celery

from berthmaster.runner import install
from berthmaster.runner.settings import NotARunner, settings_of_pod

SERVICE = """
from celery import Celery
from berthmaster.runner import install
install(app := Celery("service"))
"""
POD = {"POOL": "ci/runners", "POD": "runners-1", "UID": "u-1"}


@pytest.fixture
def pod(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The environment of a pod of a pool."""
    for name, value in POD.items():
        monkeypatch.setenv(f"BERTHMASTER_RUNNER__{name}", value)
    return monkeypatch


@pytest.mark.row("ST-60")
def test_a_worker_outside_of_a_pod_names_the_variables_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "service.py").write_text(SERVICE)
    command = [sys.executable, "-m", "celery", "--app", "service", "worker"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    names = ", ".join(f"BERTHMASTER_RUNNER__{name}" for name in POD)
    said = f"Error: {names} are missing: only a pod of a PodPool has them, and only there runners run\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


@pytest.mark.row("ST-60")
def test_a_program_that_is_no_command_gets_an_ordinary_error() -> None:
    install(app := Celery("service", set_as_current=False))
    with pytest.raises(NotARunner, match=r"BERTHMASTER_RUNNER__POOL, .* are missing"):
        app.conf.broker_url  # noqa: B018 - reads the settings


@pytest.mark.row("ST-60")
def test_one_missing_and_one_wrong_variable_are_named_without_their_values(pod: pytest.MonkeyPatch) -> None:
    pod.delenv("BERTHMASTER_RUNNER__UID")
    pod.setenv("BERTHMASTER_RUNNER__REDIS__URL", "http://:hidden@r/0")
    with pytest.raises(NotARunner) as refused:
        settings_of_pod()
    wrong, missing = str(refused.value).split("; ")
    assert wrong.startswith("BERTHMASTER_RUNNER__REDIS__URL: ")
    assert "hidden" not in wrong
    assert "Value error" not in wrong
    assert missing.startswith("BERTHMASTER_RUNNER__UID is missing: only a pod")


@pytest.mark.row("ST-60")
def test_a_pod_s_variables_are_its_settings(pod: pytest.MonkeyPatch) -> None:
    assert settings_of_pod().pool == POD["POOL"]
