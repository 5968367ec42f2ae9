"""Variables that look like settings and are none."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from events.setting_names import mistyped, names_of, unread
from events.settings import Misconfigured, ProcessSettings, settings_of
from workers.cli.main import app
from workers.settings import WorkerSettings

KNOWN = {*names_of(WorkerSettings), *names_of(ProcessSettings)}
MEANT = "BERTHMASTER_REDIS_URL: there is no such setting; is BERTHMASTER_REDIS__URL meant?"
SERVICE = "BERTHMASTER_METRICS"
LINKS = {
    f"{SERVICE}_SERVICE_HOST": "10.0.0.1",
    f"{SERVICE}_SERVICE_PORT": "9100",
    f"{SERVICE}_SERVICE_PORT_HTTP_METRICS": "9100",
    f"{SERVICE}_PORT": "tcp://10.0.0.1:9100",
    f"{SERVICE}_PORT_9100_TCP": "tcp://10.0.0.1:9100",
    f"{SERVICE}_PORT_9100_TCP_PROTO": "tcp",
    f"{SERVICE}_PORT_9100_TCP_PORT": "9100",
    f"{SERVICE}_PORT_9100_TCP_ADDR": "10.0.0.1",
}
"""What a kubelet sets for a Service `berthmaster-metrics`; one of them is a setting without one of its underscores."""


@pytest.fixture(autouse=True)
def cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERTHMASTER_CLUSTER", "blue")


@pytest.mark.row("EV-34")
@pytest.mark.parametrize("kind", [WorkerSettings, ProcessSettings])
def test_a_setting_with_an_underscore_too_few_is_refused_by_each_process(
    kind: type[WorkerSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BERTHMASTER_REDIS_URL", "redis://of-a-secret@r/0")
    with pytest.raises(Misconfigured) as refused:
        settings_of(kind)
    assert str(refused.value) == f"settings: {MEANT}"


@pytest.mark.row("EV-34")
def test_publisher_and_commands_end_at_their_start_with_the_name_that_is_meant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BERTHMASTER_REDIS_URL", "redis://r/0")
    publisher = subprocess.run([sys.executable, "-m", "events"], check=False, capture_output=True, text=True)
    assert (publisher.returncode, MEANT in publisher.stderr) == (2, True)
    for command in ("status", "worker", "beat", "doctor"):
        done = CliRunner().invoke(app, [command])
        assert (done.exit_code, MEANT in done.stderr) == (2, True), command


@pytest.mark.row("EV-34")
def test_variables_of_a_service_are_neither_refused_nor_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in LINKS.items():
        monkeypatch.setenv(name, value)
    assert (mistyped(KNOWN, LINKS), unread(KNOWN, LINKS)) == ({}, {})
    assert settings_of(WorkerSettings).metrics.port != 9100
    assert settings_of(ProcessSettings)
    assert mistyped(KNOWN, {f"{SERVICE}_PORT": "9100"}) == {f"{SERVICE}_PORT": "BERTHMASTER_METRICS__PORT"}


@pytest.mark.row("EV-34")
def test_other_unknown_names_are_warned_of_with_the_nearest_setting() -> None:
    known = dict.fromkeys(("BERTHMASTER_RUNNER__POOL", "BERTHMASTER_REQUIRE_HELM", "BERTHMASTER_CHAOS_SEED"), "x")
    unknown = {"BERTHMASTER_REDS__URL": "BERTHMASTER_REDIS__URL", "BERTHMASTER_COLOUR": None}
    assert unread(KNOWN, {**dict.fromkeys(KNOWN, "x"), **known, **dict.fromkeys(unknown, "1s")}) == unknown
    done = CliRunner().invoke(app, ["explain", "pod", "no-namespace"], env={**known, **dict.fromkeys(unknown, "1s")})
    assert done.stderr.splitlines()[:-1] == [
        "BERTHMASTER_COLOUR: there is no such setting, and nobody reads it",
        "BERTHMASTER_REDS__URL: there is no such setting; is BERTHMASTER_REDIS__URL meant?",
    ]
