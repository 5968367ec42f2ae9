"""Workers and Redis that die under load: nothing is lost, nothing is stuck, no key is run twice at once."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count, pairwise
from typing import Any

import pytest
from kombu import Connection
from redis.exceptions import RedisError

from berthmaster import routing
from berthmaster.runner.install import configuration as runners_configuration
from berthmaster.runner.settings import RunnerSettings
from compose.sandbox.redis_server import RedisServer
from events.workqueue import Mark
from tests.integration.worker.fleet import Entry, Fleet, during, mark
from tests.support.faults.redis_restart import restart
from tests.support.waiting import eventually
from workers.celery_app.settings import configuration as workers_configuration
from workers.settings import WorkerSettings

MakeFleet = Callable[[], Fleet]


def unfinished(fleet: Fleet, newest: dict[str, int]) -> set[str]:
    """Keys whose newest version no run has finished."""
    ended = {(entry.key, entry.version) for entry in fleet.whole_diary("ended")}
    return {key for key, version in newest.items() if (key, version) not in ended}


def started_at_least(fleet: Fleet, runs: int) -> bool:
    return len(fleet.whole_diary("started")) >= runs


def at_once(entries: list[Entry]) -> list[tuple[Entry, Entry]]:
    """Pairs of runs of one key of which the second began before the first, which did end, had ended."""
    ends = {entry.token: entry for entry in entries if entry.event == "ended"}
    starts = sorted((entry for entry in entries if entry.event == "started"), key=lambda entry: (entry.key, entry.at))
    pairs = pairwise(starts)
    return [
        (one, two) for one, two in pairs if one.key == two.key and one.token in ends and two.at < ends[one.token].at
    ]


@pytest.mark.row("EV-14", "EV-09")
def test_workers_killed_at_random_while_200_keys_run_leave_none_behind(make_fleet: MakeFleet) -> None:
    fleet = make_fleet().start(workers=3)
    newest = {f"pod/storm/p{number}": number + 1 for number in range(200)}
    for key, version in newest.items():
        fleet.mark(key, version, seconds=0.3)
    for kills in range(1, 5):
        eventually(partial(started_at_least, fleet, kills * 30))
        random.choice([worker for worker in fleet.workers if worker.process and worker.process.poll() is None]).kill()
        fleet.add_worker()
    eventually(lambda: fleet.settled() and not unfinished(fleet, newest), timeout=60)
    assert not at_once(fleet.whole_diary())
    eventually(lambda: not fleet.redis.hlen("unacked"), timeout=20)


def as_worker() -> dict[str, Any]:
    return workers_configuration(WorkerSettings(cluster="blue"))


def as_runner() -> dict[str, Any]:
    return runners_configuration(RunnerSettings(pool="ci/runners", pod="a", uid="u"))


@pytest.mark.row("EV-14")
@pytest.mark.parametrize("killed", [as_worker, as_runner])
def test_a_process_killed_while_it_looks_for_messages_of_the_dead_keeps_nobody_else_from_it(
    make_fleet: MakeFleet, killed: Callable[[], dict[str, Any]]
) -> None:
    fleet = make_fleet().start()
    fleet.mark("pod/storm/p", seconds=60)
    eventually(lambda: fleet.diary("pod/storm/p", "started") and fleet.redis.hlen("unacked"))
    options = killed()["broker_transport_options"]
    with Connection(fleet.url, transport_options=options) as connection:
        channel: Any = connection.default_channel
        look = channel.client.lock(channel.unacked_mutex_key, timeout=channel.unacked_mutex_expire)  # as kombu's Mutex
        eventually(lambda: look.acquire(blocking=False))
    fleet.workers[0].kill()
    fleet.add_worker()
    fleet.mark("pod/storm/p", 2)
    eventually(lambda: fleet.settled() and not fleet.redis.hlen("unacked"), timeout=60)


@pytest.mark.row("EV-11", "EV-14")
@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_redis_killed_under_load_stops_no_worker_and_loses_no_key(
    make_fleet: MakeFleet, server: RedisServer, pool: str
) -> None:
    fleet = make_fleet().start(workers=2, BERTHMASTER_CELERY__POOL=pool, BERTHMASTER_CELERY__CONCURRENCY="4")
    numbers, newest = count(1), dict[str, Mark]()

    def change() -> None:
        """What the publisher does: it marks what the cluster has, and learns by an error that Redis is away."""
        version = next(numbers)
        changed = mark(f"pod/load/p{version % 60}", version, seconds=0.1)
        newest[changed.key] = changed
        with suppress(RedisError):
            fleet.queue.marks(fleet.epoch, [changed])

    for _ in range(2):
        during(2, change)
        server.kill()
        during(1.5, change)
        server.start()
        fleet.publish_anew(newest.values())
    during(1, change)
    versions = {key: marked.version for key, marked in newest.items()}
    eventually(lambda: fleet.settled() and not unfinished(fleet, versions), timeout=60)
    assert all(worker.running() for worker in fleet.workers)
    assert not at_once(fleet.whole_diary())


@pytest.mark.row("EV-11")
def test_no_key_is_given_out_before_the_publisher_has_listed_to_a_new_redis(
    make_fleet: MakeFleet, server: RedisServer
) -> None:
    fleet = make_fleet().start()
    fleet.mark("pod/before/p")
    eventually(lambda: fleet.diary("pod/before/p", "ended") and fleet.settled())
    restart(server)
    old_epoch = fleet.epoch
    assert fleet.queue.marks(old_epoch, [mark("pod/after/p")]) == [-1]  # what it was told may be incomplete
    fleet.queue.touch(["pod/before/p"])
    assert not fleet.redis.llen(routing.LATENCY)  # a closed queue sends no hint, and a service that asks is refused
    asked = ("pod/before/p", True)
    fleet.redis.lpush(routing.LATENCY, routing.message(routing.PORTS_RECONCILE, *asked))
    refused = {"reason": "not_ready"}
    eventually(lambda: fleet.metric("berthmaster_takes_refused_total", **refused) >= 1, timeout=20)
    fleet.publish_anew([mark("pod/before/p", 2)])
    eventually(lambda: [entry.version for entry in fleet.diary("pod/before/p", "ended")] == [1, 2], timeout=20)


@pytest.mark.row("EV-11")
def test_processes_go_on_after_everything_in_redis_was_deleted(make_fleet: MakeFleet) -> None:
    fleet = make_fleet().start()
    fleet.mark("pod/flushed/p", waits=1)
    eventually(lambda: len(fleet.diary("pod/flushed/p", "ended")) >= 2, timeout=20)
    fleet.redis.flushall()  # also what kombu keeps about queues and bindings
    fleet.publish_anew([mark("pod/flushed/p", 2, waits=1)])
    eventually(lambda: len(fleet.diary("pod/flushed/p", "ended")) >= 3, timeout=30)  # the beat still ticks
    assert all(process.running() for process in [*fleet.workers, *fleet.beats])
