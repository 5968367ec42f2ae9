"""The commands that the command line becomes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from events.publisher.process import longest_stop
from events.settings import ProcessSettings
from workers.cli.processes import beat_command, flower_command, worker_command
from workers.settings import WorkerSettings

DEPLOY = Path(__file__).parents[3] / "deploy" / "base"
SETTINGS = WorkerSettings(cluster="blue")


def test_a_worker_reads_both_queues_with_threads_and_no_gossip() -> None:
    command = worker_command(SETTINGS, None, None, [])
    text = " ".join(command.arguments)
    assert "-A workers.app worker -P threads -c 20" in text
    assert "-Q berthmaster.latency,berthmaster.jobs,berthmaster.maintenance" in text
    assert "--without-gossip --without-mingle" in text


def test_threads_are_waited_for_and_children_of_prefork_are_cut_off_in_time() -> None:
    assert "REMAP_SIGTERM" not in worker_command(SETTINGS, None, None, []).environment
    assert worker_command(SETTINGS, None, "prefork", []).environment["REMAP_SIGTERM"] == "SIGQUIT"


def test_options_of_the_command_line_come_before_settings_and_the_rest_is_passed_on() -> None:
    arguments = worker_command(SETTINGS, 5, "solo", ["--loglevel", "DEBUG"]).arguments
    assert arguments[arguments.index("-c") + 1] == "5"
    assert arguments[arguments.index("-P") + 1] == "solo"
    assert arguments[-2:] == ["--loglevel", "DEBUG"]


def test_flower_keeps_a_bounded_number_of_tasks() -> None:
    assert "--max-tasks=10000" in flower_command("127.0.0.1", 5555, []).arguments


def test_a_beat_is_celery_s() -> None:
    launched = ["-m", "workers.cli.launch", "10", "-A", "workers.app", "beat", "--quiet"]
    assert beat_command(["--quiet"]).arguments == launched


@pytest.mark.row("TM-05")
@pytest.mark.parametrize("name", ["publisher", "worker", "beat", "flower"])
def test_a_process_ends_before_its_pod_s_time_is_over(name: str) -> None:
    bounds = {
        "publisher": longest_stop(ProcessSettings(cluster="test")),
        "worker": float(worker_command(SETTINGS, None, None, []).arguments[2]),
        "beat": float(beat_command([]).arguments[2]),
        "flower": float(flower_command("127.0.0.1", 5555, []).arguments[2]),
    }
    documents = yaml.safe_load_all((DEPLOY / f"{name}.yaml").read_text())
    [pod] = [each["spec"]["template"]["spec"] for each in documents if each["kind"] == "Deployment"]
    assert bounds[name] <= pod["terminationGracePeriodSeconds"] - 5
