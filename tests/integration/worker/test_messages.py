"""Messages that are not what they should be: refused, counted, acknowledged; the worker lives on."""

from __future__ import annotations

import base64
import os
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from berthmaster import routing
from tests.integration.worker.fleet import Fleet
from tests.support.waiting import eventually

Message = dict[str, Any]
FLOOD = 2000
JUNK: list[Any] = [
    None,
    True,
    -1,
    2**70,
    1.5,
    "",
    "x" * 5000,
    "pod/a/b/c",
    "pod/A/b",
    [],
    [[]],
    {},
    {"key": None},
    "\ud800",
]


def message(*args: object, task: str = routing.PORTS_RECONCILE) -> Message:
    made: Message = orjson.loads(routing.message(routing.PORTS_RECONCILE, *args))
    made["headers"]["task"] = task
    return made


def headed(**changes: Any) -> Message:
    made = message("k")
    return {**made, "headers": {**made["headers"], **changes}}


def body(text: str, **changes: Any) -> Message:
    return {**message(), "body": text, **changes}


PICKLED = {"content-type": "application/x-python-serialize", "content-encoding": "binary"}
ODD = {
    "unknown task": message("k", task="no.such.task"),
    "empty task": message("k", task=""),
    "body that is no JSON": body("no json"),
    "empty body": body("[]"),
    "body that is an object": body("{}"),
    "arguments that are an object": body('[{"key": 1}, [], {}]'),
    "arguments that are a text": body('["pod/a/b", {}, {}]'),
    "pickle": body("gASVBQAAAAAAAABDAWGULg==", **PICKLED),
    "yaml": body("key: 1", **{"content-type": "application/x-yaml"}),
    "no headers": {**message("k"), "headers": {}},
    "headers that are a number": {**message("k"), "headers": 7},
    "nameless task": {**message("k"), "headers": {"task": None}},
    "eta that is no time": headed(eta="never"),
    "eta that is a number": headed(eta=5),
    "expiry that is no time": headed(expires="never"),
    "one time limit": headed(timelimit=5),
    "retries that are a text": headed(retries="many"),
    "no id": headed(id=None),
    "id that is an object": headed(id={}),
    "description that is a number": headed(argsrepr=7),
}


class Bomb:
    """Unpickled, it makes a file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.path,)


def lives_on(fleet: Fleet, pod: str) -> None:
    """Everything was acknowledged, nothing comes back, and both workers still run keys."""
    fleet.mark(pod)
    eventually(lambda: fleet.diary(pod, "ended") and fleet.all_acknowledged(), timeout=20)
    assert all(worker.running() for worker in fleet.workers)


@pytest.mark.row("EV-07")
@pytest.mark.parametrize(
    "broken",
    [
        b"no json",
        b"",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'"text"',
        b"7",
        orjson.dumps({"body": "", "headers": {}}),
        orjson.dumps({**message("k"), "properties": {}}),
        orjson.dumps({**message("k"), "properties": None}),
    ],
)
def test_an_entry_that_is_no_message_ends_no_worker(fleet: Fleet, pod: str, broken: bytes) -> None:
    fleet.redis.lpush(routing.LATENCY, broken)
    lives_on(fleet, pod)


@pytest.mark.row("EV-07")
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_message_that_no_task_takes_is_dropped(fleet: Fleet, pod: str, odd: Message) -> None:
    fleet.redis.lpush(routing.LATENCY, orjson.dumps(odd))
    lives_on(fleet, pod)


@pytest.mark.row("EV-07")
@pytest.mark.parametrize(
    "odd, reason",
    [
        ("unknown task", "unknown_task"),
        ("pickle", "invalid"),
        ("yaml", "invalid"),
        ("body that is no JSON", "undecodable"),
        ("no headers", "no_task"),
        ("one time limit", "malformed"),
        ("headers that are a number", "unreadable"),
    ],
)
def test_a_message_that_no_task_takes_is_counted_by_what_is_wrong(
    fleet: Fleet, pod: str, odd: str, reason: str
) -> None:
    before = fleet.metric("berthmaster_messages_refused_total", reason=reason)
    fleet.redis.lpush(routing.LATENCY, orjson.dumps(ODD[odd]))
    lives_on(fleet, pod)
    assert fleet.metric("berthmaster_messages_refused_total", reason=reason) == before + 1


@pytest.mark.row("EV-07")
@pytest.mark.parametrize(
    "content", ["application/x-python-serialize", "application/data", "application/x-msgpack", "application/x-yaml"]
)
def test_a_body_of_another_content_is_never_opened(fleet: Fleet, pod: str, content: str, tmp_path: Path) -> None:
    """The body is real: who opens it runs it."""
    opened = tmp_path / "opened"
    bomb = base64.b64encode(pickle.dumps((Bomb(str(opened)), {}, {}))).decode()
    encoded = {**message("k")["properties"], "body_encoding": "base64"}
    odd = {**message("k"), "body": bomb, "content-type": content, "content-encoding": "binary", "properties": encoded}
    fleet.redis.lpush(routing.LATENCY, orjson.dumps(odd))
    lives_on(fleet, pod)
    assert not opened.exists()


@pytest.mark.row("EV-17")
def test_a_refused_payload_names_its_field_and_is_counted(fleet: Fleet, pod: str) -> None:
    before = fleet.metric("berthmaster_payloads_refused_total")
    fleet.redis.lpush(routing.LATENCY, orjson.dumps(message("pod/UPPER/case")))
    lives_on(fleet, pod)
    assert fleet.metric("berthmaster_payloads_refused_total") == before + 1

    def refusals() -> list[Any]:
        lines = [line for worker in fleet.workers for line in worker.log_lines()]
        return [line["problems"] for line in lines if line["event"] == "payload_refused"]

    assert any("key" in problems for problems in eventually(refusals))


def test_no_payload_ends_a_worker_or_comes_back(fleet: Fleet, pod: str, fuzz: Callable[[], Any]) -> None:
    tasks = [routing.PORTS_RECONCILE, routing.QUEUE_TICK, routing.QUEUE_DRAIN]
    for _ in range(200):
        made = message(task=random.choice(tasks))
        made["body"] = orjson.dumps([fuzz(), fuzz(), {}], option=orjson.OPT_NON_STR_KEYS).decode()
        fleet.redis.lpush(routing.LATENCY, orjson.dumps(made))
    lives_on(fleet, pod)


@pytest.fixture
def fuzz() -> Callable[[], Any]:
    """Makes a value of JSON, of any shape. pytest-randomly seeds the chance."""

    def value(depth: int = 0) -> Any:
        kind = random.randrange(4 if depth < 3 else 2)
        if kind == 2:
            return [value(depth + 1) for _ in range(random.randrange(4))]
        if kind == 3:
            return {
                random.choice(["key", "sent", "requested", "x"]): value(depth + 1) for _ in range(random.randrange(4))
            }
        return random.choice([one for one in JUNK if one != "\ud800" and one != 2**70])

    return value


@pytest.mark.row("SL-28", "EV-05")
def test_a_flood_of_jobs_does_not_keep_hints_waiting(fleet: Fleet, pod: str) -> None:
    """After a loss of Redis the hint of a pool lets its jobs go on, and all clients ask for them again."""
    jobs = routing.QUEUES[routing.SLOTS_SUBMIT]
    fleet.redis.lpush(jobs, *(routing.message(routing.SLOTS_SUBMIT, "refused") for _ in range(FLOOD)))
    fleet.mark(pod)
    eventually(lambda: fleet.diary(pod, "started"))
    assert fleet.redis.llen(jobs) > FLOOD // 2
    fleet.redis.delete(jobs)
