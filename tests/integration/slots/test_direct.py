"""What a client does itself when it submits a job, and what it leaves to workers."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import orjson
import pytest
from redis import Redis

from berthmaster import routing
from berthmaster.client import Fleet, Request
from berthmaster.jobs.direct import DirectSubmitter
from berthmaster.jobs.job import Placed, PoolLimits
from berthmaster.jobs.messages import HEADER, placed_of, queue_of
from berthmaster.jobs.scripts import load_scripts
from berthmaster.jobs.submission import Submission
from berthmaster.redis.incarnation import connect
from tests.integration.slots.test_leaks import due
from tests.support.jobs.slot_world import SlotWorld
from tests.support.waiting import eventually

POOL = "ci/runners"
JOB = Request("j", POOL, "work", args=["x"])
CLIENT = """
import sys
from tests.integration.slots.test_direct import submit_by
submit_by(*sys.argv[1:])
"""
HOLD = timedelta(hours=7)
PASSWORD = "of-a-client"  # noqa: S105 - of a server that lives as long as the tests
RIGHTS = ("-@all", "+@read", "+@write", "+@connection", "+@transaction", "+@scripting", "-@dangerous", "+info", "+time")
LEDGER = (f"~{{sp:{POOL}}}*",)
KOMBU = ("", "_kombu.binding.", "_kombu.binding_permanent.")
WORKERS = tuple(f"~{prefix}{routing.JOBS}*" for prefix in KOMBU)
PODS = tuple(f"~{prefix}{routing.runner_queues(POOL)}*" for prefix in KOMBU)


@pytest.fixture
def pool(world: SlotWorld) -> SlotWorld:
    """A pool of one pod with one slot, whose spec is known."""
    world.ledger.resize("1-a", None, 0, 9, 1, PoolLimits(HOLD))
    world.add("a", ("*",))
    return world


def asked(world: SlotWorld) -> int:
    """How many messages there are for workers."""
    count: Any = world.redis.llen(routing.JOBS)
    return int(count)


def sent(world: SlotWorld) -> list[Placed]:
    """The messages in the queue of the pod."""
    messages: Any = world.redis.lrange(queue_of(POOL, "pod-a"), 0, -1)
    return [placed_of(orjson.loads(message)["headers"][HEADER], "pod-a") for message in messages]


def submit_by(runners: str, redis_url: str) -> bool:
    """Submit the job as a client does whose messages for runners go to another address than its commands."""
    with connect(redis_url) as redis:
        return DirectSubmitter(redis, load_scripts(redis), runners).submit(Submission.model_validate(JOB.encoded()))


@pytest.mark.row("SL-18", "SL-26")
def test_a_job_with_a_free_slot_goes_to_its_runner_without_a_worker(pool: SlotWorld, redis_url: str) -> None:
    with Fleet(redis_url) as fleet:
        fleet.submit(JOB)
    (message,) = sent(pool)
    assert (pool.state("j"), asked(pool), message.job.hold_ms) == ("placed", 0, HOLD // timedelta(milliseconds=1))
    assert pool.deliver(message)
    assert pool.state("j") == "running"


@pytest.mark.row("SL-27")
def test_a_job_that_a_client_submits_again_is_sent_once(pool: SlotWorld, redis_url: str) -> None:
    with Fleet(redis_url) as fleet:
        for _ in range(3):
            fleet.submit(JOB)
    assert (len(sent(pool)), asked(pool)) == (1, 0)


@pytest.mark.row("SL-18", "EV-31")
def test_a_job_without_a_slot_waits_and_workers_are_asked_for_it(pool: SlotWorld, redis_url: str) -> None:
    with Fleet(redis_url) as fleet:
        fleet.submit(Request("first", POOL, "work"))
        for _ in range(2):
            fleet.submit(JOB)
    assert (pool.state("j"), asked(pool), pool.redis.xlen(f"{pool.ledger.prefix}outbox")) == ("waiting", 2, 1)


@pytest.mark.row("SL-18")
def test_of_a_pool_whose_spec_is_not_known_workers_take_jobs_in(world: SlotWorld, redis_url: str) -> None:
    world.add("a", ("*",))
    with Fleet(redis_url) as fleet:
        fleet.submit(JOB)
    assert (world.ledger.record("j"), asked(world), sent(world)) == (None, 1, [])


@pytest.mark.row("SL-13")
def test_while_a_pool_is_not_verified_workers_are_asked(pool: SlotWorld, redis_url: str) -> None:
    pool.redis.hset(f"{pool.ledger.prefix}meta", mapping={"seen": "another:server:v3", "inc": "another:server:v3"})
    with Fleet(redis_url) as fleet:
        fleet.submit(JOB)
    assert (pool.ledger.record("j"), asked(pool), sent(pool)) == (None, 1, [])


@pytest.mark.row("SL-27", "SL-28")
def test_a_job_whose_client_dies_before_it_sends_the_message_starts_by_the_sweep(
    pool: SlotWorld, redis_url: str
) -> None:
    """Rule resend: a broker that accepts and never answers holds the client between its script and its message."""
    with closing(socket.create_server(("127.0.0.1", 0))) as deaf:
        runners = f"redis://127.0.0.1:{deaf.getsockname()[1]}/0"
        client = subprocess.Popen([sys.executable, "-c", CLIENT, runners, redis_url])
        eventually(lambda: (record := pool.ledger.record("j")) and record.state == "placed", 30)
        client.kill()
        client.wait(30)
    assert (pool.state("j"), sent(pool), asked(pool)) == ("placed", [], 0)
    due(pool)
    pool.deliver_all()
    assert pool.state("j") == "running"


@pytest.mark.row("SL-28")
def test_a_job_whose_message_the_broker_does_not_take_waits_again(pool: SlotWorld, redis_url: str) -> None:
    assert not submit_by("redis://127.0.0.1:1/0", redis_url)
    assert (pool.state("j"), pool.count("used")) == ("waiting", 0)
    due(pool)
    pool.deliver_all()
    assert pool.state("j") == "running"


# ---- what the Redis user of a client may do


@pytest.fixture
def users(redis: Redis, redis_url: str) -> Iterator[Any]:
    """Returns the address of Redis as a user with these rights."""
    names: list[str] = []

    def make(*rights: str) -> str:
        names.append(f"client-{len(names)}")
        redis.execute_command("ACL", "SETUSER", names[-1], "reset", "on", f">{PASSWORD}", *rights)  # type: ignore[no-untyped-call] # redis-py has no types there
        return redis_url.replace("redis://", f"redis://{names[-1]}:{PASSWORD}@")

    yield make
    for name in names:
        redis.acl_deluser(name)


def test_the_rights_of_a_client_that_submits_directly(pool: SlotWorld, users: Any) -> None:
    with Fleet(users(*RIGHTS, *LEDGER, *PODS)) as fleet:
        fleet.submit(JOB)
        record = fleet.job(POOL, "j")
        assert record
        assert (record.state, len(sent(pool)), asked(pool)) == ("placed", 1, 0)


def test_a_client_that_may_only_read_the_ledger_leaves_all_to_workers(pool: SlotWorld, users: Any) -> None:
    with Fleet(users(*RIGHTS, f"%R{LEDGER[0]}", *WORKERS)) as fleet:
        fleet.submit(JOB)
    assert (pool.ledger.record("j"), asked(pool), sent(pool)) == (None, 1, [])


def test_a_client_that_may_not_send_to_pods_leaves_all_to_workers(pool: SlotWorld, users: Any) -> None:
    """It learns so by its first job, which then waits for a moment."""
    with Fleet(users(*RIGHTS, *LEDGER, *WORKERS)) as fleet:
        fleet.submit(JOB)
        assert (pool.state("j"), pool.count("used"), asked(pool)) == ("waiting", 0, 1)
        fleet.submit(Request("k", POOL, "work"))
        assert (pool.ledger.record("k"), asked(pool), sent(pool)) == (None, 2, [])
