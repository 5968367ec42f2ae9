"""Flower as `berthmaster flower` starts it: closed, and readable."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path

import pytest

from berthmaster import routing
from tests.integration.worker.fleet import Fleet
from tests.support.jobs.slot_world import SlotWorld
from tests.support.servers.celery_worker import CeleryProcess
from tests.support.servers.flower import COMMAND, Flower, running
from tests.support.waiting import eventually


@pytest.fixture
def watched(make_fleet: Callable[[], Fleet]) -> Fleet:
    """A fleet whose real workers send task events."""
    fleet = make_fleet()
    fleet.publish_anew()
    return fleet


@pytest.fixture
def flower(watched: Fleet, tmp_path: Path) -> Iterator[Flower]:
    with running(watched.url, tmp_path / "flower.log") as found:
        yield found


def test_flower_shows_nothing_to_who_does_not_say_who_he_is(flower: Flower) -> None:
    for path in ("/", "/tasks", "/workers", "/api/tasks", "/api/workers"):
        assert flower.get(path, known=False)[0] == HTTPStatus.UNAUTHORIZED, path
        assert flower.get(path)[0] == HTTPStatus.OK, path
    for path in ("/metrics", "/healthcheck"):  # as docs/operations.md warns
        assert flower.get(path, known=False)[0] == HTTPStatus.OK, path


def test_flower_does_not_start_open_unless_told_to() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FLOWER_")}
    ended = subprocess.run(
        COMMAND,
        env={**environment, "BERTHMASTER_CLUSTER": "test"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 2
    assert "FLOWER_BASIC_AUTH=USER:PASSWORD" in ended.stderr
    assert "--unauthenticated" in ended.stderr


def test_people_see_what_a_task_was_asked_and_what_it_did(flower: Flower, watched: Fleet, tmp_path: Path) -> None:
    own = {"BERTHMASTER_CELERY__TASK_EVENTS": "true", "BERTHMASTER_KUBERNETES__SERVER": "http://127.0.0.1:1"}
    worker = CeleryProcess("worker", "told", tmp_path, watched.url, own, application="workers.app")
    watched.workers.append(worker.start().ready())
    slots = SlotWorld(watched.redis)
    slots.add("a")
    job = {"id": "j1", "pool": slots.ledger.pool, "task": "demo.run", "phases": ["plan"]}
    watched.redis.lpush(routing.JOBS, routing.message(routing.SLOTS_SUBMIT, job))
    (task,) = eventually(lambda: flower.tasks(routing.SLOTS_SUBMIT))
    assert "'id': 'j1'" in task["args"]
    assert "job_submitted pool=ci/runners job=j1 state=placed" in task["result"]
    (row,) = [row for row in flower.table() if row["name"] == routing.SLOTS_SUBMIT]
    assert row["result"].startswith("job_submitted pool=ci/runners job=j1 state=placed"), "without a quote"
    assert row["args"].startswith("{'id': 'j1'")
    shown = re.findall(r'flower_events_total\{.*type="task-job_submitted".*\} 1\.0', flower.get("/metrics")[1])
    assert shown != []


def test_what_a_task_does_side_by_side_is_told_as_well_and_does_not_end_it(flower: Flower, watched: Fleet) -> None:
    """Its threads know of no task."""
    watched.add_worker(BERTHMASTER_CELERY__TASK_EVENTS="true").ready()
    watched.mark("pod/games/many", makes=5)
    (task,) = eventually(lambda: [each for each in flower.tasks(routing.PORTS_RECONCILE) if each["result"]])
    assert task["state"] == "SUCCESS"
    assert task["result"].count("pod_created pod=pod-") == 5
    assert re.findall(r'flower_events_total\{.*type="task-pod_created".*\} 5\.0', flower.get("/metrics")[1]) != []
    assert [entry.event for entry in watched.diary("pod/games/many")] == ["started", "ended"]
