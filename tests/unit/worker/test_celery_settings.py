"""What Celery is told."""

from __future__ import annotations

from typing import Any

import pytest
from celery.app.defaults import DEFAULTS
from kombu import Queue

from berthmaster import routing
from berthmaster.broker.address import OF_RABBITMQ
from workers.celery_app.settings import configuration
from workers.settings import WorkerSettings


def configured(**changes: Any) -> dict[str, Any]:
    return configuration(WorkerSettings(cluster="blue", **changes))


def test_every_setting_is_one_that_celery_knows() -> None:
    assert configured().keys() - DEFAULTS.keys() == {"visibility_timeout"}  # read, but not declared: celery#9339


@pytest.mark.row("EV-14")
def test_a_message_outlives_the_worker_that_has_it() -> None:
    conf = configured()
    assert conf["task_acks_late"]
    assert conf["task_reject_on_worker_lost"]
    assert conf["worker_prefetch_multiplier"] == 1


def test_only_json_is_read() -> None:
    assert configured()["accept_content"] == ["json"]


@pytest.mark.row("EV-08")
def test_the_visibility_timeout_is_the_same_wherever_it_is_read() -> None:
    conf = configured(celery={"visibility_timeout": "90s"})
    assert conf["visibility_timeout"] == conf["broker_transport_options"]["visibility_timeout"] == 90


def test_every_task_has_a_queue_that_workers_read() -> None:
    conf = configured()
    read = {queue.name for queue in conf["task_queues"] if isinstance(queue, Queue)}
    assert {route["queue"] for route in conf["task_routes"].values()} == read
    assert conf["task_routes"].keys() == routing.QUEUES.keys()


def test_no_key_prefix_hides_the_lists_that_scripts_push_to() -> None:
    assert "global_keyprefix" not in configured()["broker_transport_options"]


def test_the_beat_sends_each_tick_to_a_task() -> None:
    schedule = configured(ports={"sweep_every": "20s"})["beat_schedule"]
    assert {entry["task"] for entry in schedule.values()} == {
        routing.QUEUE_TICK,
        routing.PORTS_SWEEP,
        routing.PORTS_AUDIT,
        routing.SLOTS_SWEEP,
        routing.PODPOOLS_AUTOSCALE,
    }
    assert schedule[routing.PORTS_SWEEP]["schedule"] == 20


@pytest.mark.row("ST-42")
def test_rabbitmq_gets_no_option_of_redis_and_no_prefetch_that_a_thread_of_a_task_restores() -> None:
    of_redis, of_rabbitmq = configured(), configured(broker={"url": "amqps://u:p@one/v"})
    assert of_rabbitmq["broker_url"] == "amqps://u:p@one/v"
    assert of_rabbitmq["broker_transport_options"] == OF_RABBITMQ
    assert of_redis["broker_transport_options"].keys() >= {"max_connections", "visibility_timeout"}
    assert of_redis["worker_enable_prefetch_count_reduction"] is True
    assert of_rabbitmq["worker_enable_prefetch_count_reduction"] is False
