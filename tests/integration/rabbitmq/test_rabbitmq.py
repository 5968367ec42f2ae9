"""The broker on RabbitMQ: hints, jobs, ticks, refused messages, SIGTERM, and a broker that goes and comes back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from http import HTTPStatus
from itertools import count
from pathlib import Path
from typing import Any, Final

import orjson
import pytest
from kombu import Connection, Producer

from berthmaster import routing
from berthmaster.broker.address import broker_problem
from berthmaster.broker.sending import EMBED, Sender
from berthmaster.client import Fleet, Request
from berthmaster.jobs.job import Job, PoolLimits
from berthmaster.jobs.messages import Body
from events.publisher.process import workqueue
from events.settings import ProcessSettings
from events.workqueue import Mark, Workqueue
from tests.integration.rabbitmq.conftest import OnRabbit
from tests.integration.runner.conftest import POOL, RunnerPool
from tests.integration.worker.fleet import mark
from tests.support.servers.flower import running
from tests.support.servers.rabbitmq import RabbitMq
from tests.support.waiting import eventually
from workers.stores.pool_names import PodPoolNames

numbers = count(1)
RIGHTS: Final = "^(berthmaster[.].+|celery.*|.+[.]celery[.]pidbox|reply[.]celery[.]pidbox|amq[.]default)$"
INSTALL: Final = Path(__file__).parents[3] / "docs" / "install.md"
HOUR = timedelta(hours=1)


def some_keys(number: int) -> list[str]:
    batch = next(numbers)
    return [f"pod/batch-{batch}/p{n}" for n in range(number)]


def ended(fleet: OnRabbit, keys: list[str], version: int = 1) -> bool:
    done = {entry.key for entry in fleet.whole_diary("ended") if entry.version == version}
    return done >= set(keys) and fleet.well()


def publish(rabbit: RabbitMq, task: str, body: Any, queue: str = routing.LATENCY, **how: Any) -> None:
    headers = routing.headers(task, f"odd-{next(numbers)}", ())
    with Connection(rabbit.url) as connection:
        producer = Producer(connection.default_channel)
        producer.publish(body, exchange="", routing_key=queue, headers=headers, serializer="json", **how)


@pytest.fixture
def runners(fleet: OnRabbit, tmp_path: Path) -> Iterator[RunnerPool]:
    made = RunnerPool(tmp_path, fleet.redis, fleet.server.url)
    made.ledger.resize("1-a", None, 0, 1, 1, PoolLimits(HOUR))
    yield made
    for runner in made.runners.values():
        runner.kill()
        print(runner.name, runner.tail())  # noqa: T201 - shown when the test fails


@pytest.mark.row("ST-42")
def test_marked_keys_run_and_every_message_is_acknowledged(fleet: OnRabbit) -> None:
    keys = some_keys(40)
    fleet.queue.marks(fleet.epoch, [mark(key, seconds=0.01) for key in keys])
    eventually(lambda: ended(fleet, keys), 60)
    eventually(fleet.all_acknowledged, 60)


@pytest.mark.row("ST-42")
def test_hints_that_were_lost_are_sent_again_by_the_tick(fleet: OnRabbit) -> None:
    keys = some_keys(3)
    Workqueue(fleet.redis, publish=lambda _: None).marks(fleet.epoch, [mark(key) for key in keys])
    eventually(lambda: ended(fleet, keys), 60)


@pytest.mark.row("ST-42")
def test_the_publisher_sends_its_hints_there(fleet: OnRabbit, rabbit: RabbitMq) -> None:
    settings = ProcessSettings.model_validate(
        {"cluster": "test", "redis": {"url": fleet.server.url}, "broker": {"url": rabbit.url}}
    )
    keys = some_keys(3)
    queue = workqueue(settings, fleet.redis)
    queue.marks(fleet.epoch, [Mark(key, 1, "uid", gone=False, body=b"{}") for key in keys])
    eventually(lambda: ended(fleet, keys), 60)


@pytest.mark.row("ST-42")
def test_a_service_that_sends_a_task_is_served(fleet: OnRabbit) -> None:
    (key,) = some_keys(1)
    assert fleet.sender.send(routing.PORTS_RECONCILE, key, True)  # noqa: FBT003 - an argument of the task
    eventually(lambda: fleet.diary(key, "ended"), 60)


@pytest.mark.row("ST-42")
def test_messages_that_no_worker_may_run_are_refused_and_end_none(fleet: OnRabbit, rabbit: RabbitMq) -> None:
    reasons = ("compressed", "canvas", "unknown_task", "malformed")
    before = {reason: fleet.metric("berthmaster_messages_refused_total", reason=reason) for reason in reasons}
    publish(rabbit, routing.QUEUE_DRAIN, (("h",), {}, EMBED), compression="gzip")
    publish(rabbit, routing.QUEUE_DRAIN, (("h",), {}, {**EMBED, "chain": [{"task": "x"}]}))
    publish(rabbit, "no.such.task", ((), {}, EMBED))
    publish(rabbit, routing.QUEUE_DRAIN, "no list")

    def refused() -> bool:
        now = {reason: fleet.metric("berthmaster_messages_refused_total", reason=reason) for reason in reasons}
        assert {reason: now[reason] - before[reason] for reason in reasons} == dict.fromkeys(reasons, 1)
        return fleet.well()

    eventually(refused, 60)
    eventually(fleet.all_acknowledged, 60)


@pytest.mark.row("ST-43")
def test_a_job_that_a_worker_takes_in_runs_on_a_runner_and_ends_once(runners: RunnerPool, fleet: OnRabbit) -> None:
    """Runners have one server: the Redis of the state."""
    runners.start("a", "threads")
    runners.ready("a")
    assert fleet.sender.send(routing.SLOTS_SUBMIT, Request("taken", POOL, "work").encoded())
    eventually(lambda: runners.ledger.record("taken") and runners.record("taken").outcome == "succeeded", 60)
    with Fleet(fleet.rabbit.url, fleet.server.url) as client:
        placed = client.run(Request("placed", POOL, "work"), timedelta(seconds=60))
    assert placed.outcome == "succeeded"
    lines = [line for line in runners.diary() if line.startswith("start")]
    assert lines == ["start taken plan", "start placed plan"]


@pytest.mark.row("ST-43")
def test_a_client_is_told_that_the_state_is_elsewhere(rabbit: RabbitMq) -> None:
    with pytest.raises(ValueError, match="redis_url is missing"):
        Fleet(rabbit.url)


@pytest.mark.row("ST-42")
def test_a_worker_that_is_asked_to_end_ends_well_and_leaves_nothing_undone(fleet: OnRabbit) -> None:
    keys = some_keys(60)
    leaving = fleet.add_worker(BERTHMASTER_CELERY__CONCURRENCY="2").ready()
    fleet.queue.marks(fleet.epoch, [mark(key, seconds=0.2, keeps=True) for key in keys])
    fleet.queue.marks(fleet.epoch, [mark(key, 2, seconds=0.2, keeps=True) for key in keys])
    eventually(lambda: len([e for e in fleet.whole_diary("ended") if e.key in keys]) > 5, 60)
    fleet.workers.remove(leaving)
    assert leaving.terminate() == 0, leaving.tail()
    eventually(lambda: ended(fleet, keys, 2), 60)
    eventually(fleet.all_acknowledged, 60)


@pytest.mark.row("ST-42")
def test_workers_and_beat_outlive_a_broker_that_is_killed_and_comes_back_with_nothing(
    fleet: OnRabbit, rabbit: RabbitMq
) -> None:
    """Its queues are gone as well as the messages, and what was taken cannot be acknowledged."""
    keys = some_keys(30)
    fleet.queue.marks(fleet.epoch, [mark(key, seconds=0.2) for key in keys])
    eventually(lambda: [entry for entry in fleet.whole_diary("started") if entry.key in keys], 60)
    rabbit.lose()
    fleet.queue.marks(fleet.epoch, [mark(key, 2, seconds=0.1) for key in keys])  # its hints go nowhere
    rabbit.start()
    eventually(lambda: ended(fleet, keys, 2), 90)
    eventually(fleet.all_acknowledged, 60)


@pytest.mark.row("ST-50")
def test_flower_shows_fleet_workers_and_tasks_and_sends_decisions(
    fleet: OnRabbit, runners: RunnerPool, rabbit: RabbitMq, tmp_path: Path
) -> None:
    """As a user of RabbitMQ who has no more rights than the guide gives."""
    assert f"`{RIGHTS}`" in INSTALL.read_text(encoding="utf-8")
    own = {"BERTHMASTER_BROKER__URL": rabbit.user("fleet", RIGHTS), "BERTHMASTER_FLOWER__DECIDERS": "*"}
    runners.ledger.submit(Job("waits", ("plan",), body=Body(task="work").encoded()))
    PodPoolNames(fleet.redis).add(POOL)
    (key,) = some_keys(1)
    with running(fleet.server.url, tmp_path / "flower.log", **own) as flower:
        eventually(lambda: f"podpool/{POOL}" in flower.board()["rows"], 60)

        def workers_are_shown() -> bool:
            rows = orjson.loads(flower.ask("GET", "/workers?json=1").body)["data"]
            return {row["hostname"] for row in rows if row["status"]} >= {f"{w.name}@test" for w in fleet.workers}

        def a_task_is_shown() -> bool:
            """Flower may have come too late for the events of the one before."""
            fleet.sender.send(routing.PORTS_RECONCILE, key, True)  # noqa: FBT003 - an argument of the task
            return bool(flower.tasks(routing.PORTS_RECONCILE))

        eventually(workers_are_shown, 60)
        eventually(a_task_is_shown, 60)
        page = f"/fleet/data/job/{POOL}/waits"
        assert orjson.loads(flower.ask("GET", page).body)["actions"] == {"confirm": None, "cancel": True}
        same_origin: Any = {"Sec-Fetch-Site": "same-origin"}
        decided = flower.ask("POST", f"/fleet/cancel/{POOL}/waits", body={"job": "waits"}, **same_origin)
        assert decided.status == HTTPStatus.ACCEPTED
        eventually(lambda: runners.record("waits").outcome == "cancelled", 60)
        for path in ("/workers", "/tasks", "/broker", f"/worker/{fleet.workers[0].name}@test"):
            assert flower.ask("GET", path).status == HTTPStatus.OK, path


@pytest.mark.row("ST-45")
def test_a_broker_that_is_away_costs_a_sender_no_exception() -> None:
    nowhere = "amqp://guest:guest@127.0.0.1:1//"
    assert not Sender(nowhere).send(routing.QUEUE_TICK)
    assert broker_problem(nowhere)


@pytest.mark.row("ST-45")
def test_a_wrong_password_is_a_finding_and_no_exception(rabbit: RabbitMq) -> None:
    wrong = rabbit.url.replace("guest:guest", "guest:s3cret")
    assert not Sender(wrong).send(routing.QUEUE_TICK)
    problem = broker_problem(wrong)
    assert problem
    assert "s3cret" not in problem
    assert broker_problem(rabbit.url) is None
