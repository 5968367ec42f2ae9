"""Flower as `berthmaster flower` starts it: closed, and readable."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

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


@pytest.mark.row("EV-17", "EV-24")
def test_each_key_of_a_drain_is_shown_as_a_task_of_its_own(flower: Flower, watched: Fleet) -> None:
    """By the token of its run, its kind's task and its key, below the drain."""
    bodies: list[dict[str, Any]] = [{}, {"waits": 60}, {"fails": "bug"}]
    keys = {f"pod/games/p-{number}": body for number, body in enumerate(bodies)}
    for key, body in keys.items():
        watched.mark(key, **body)
    watched.add_worker(BERTHMASTER_CELERY__TASK_EVENTS="true").ready()

    def ended() -> list[Any]:
        shown = flower.tasks(routing.PORTS_RECONCILE)
        return shown if len({task["args"] for task in shown}) == len(keys) else []

    tasks = {task["uuid"]: task for task in eventually(ended)}
    parents = {task["parent_id"] for task in tasks.values()}
    eventually(lambda: parents <= {task["uuid"] for task in flower.tasks(routing.QUEUE_DRAIN)})
    ends = (("SUCCESS", "settled"), ("SUCCESS", "waiting"), ("FAILURE", None))
    for key, end in zip(keys, ends, strict=True):
        task = tasks[watched.diary(key, "started")[0].token]
        assert key in task["args"]
        assert (task["state"], task["result"]) == end
    assert any("a bug" in (task["exception"] or "") for task in tasks.values())


@pytest.mark.row("UI-01")
@pytest.mark.parametrize("asked", [False, True])
def test_ticks_are_shown_only_where_somebody_asks_for_them(asked: bool, flower: Flower, watched: Fleet) -> None:
    events = {"BERTHMASTER_CELERY__TASK_EVENTS": "true", "BERTHMASTER_CELERY__TICK_EVENTS": str(asked).lower()}
    watched.add_worker(**events).ready()
    watched.beats.append(watched.process("beat", "beat-0", {}).ready())
    eventually(lambda: watched.metric("berthmaster_ticks_total", task=routing.QUEUE_TICK, outcome="done") >= 2)
    watched.mark("pod/games/one")
    eventually(lambda: flower.tasks(routing.QUEUE_DRAIN))  # what came before has come by now
    assert bool(flower.tasks(routing.QUEUE_TICK)) == asked
