"""Runners with the Redis user of their pool: all that they need, and nothing of anybody else."""

from __future__ import annotations

import time
from hashlib import sha1
from typing import Any

import pytest
from kombu import Connection, Queue
from pydantic import SecretStr
from redis import Redis
from redis.exceptions import AuthenticationError, NoPermissionError, NoScriptError, ResponseError

from berthmaster.celery import transport_guard
from berthmaster.errors import StaleToken, TransientError
from berthmaster.jobs.scripts import load_scripts, preloaded_scripts
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.redis.client import connect_state
from berthmaster.redis.identity import AnotherFleet, Identity
from berthmaster.redis.settings import RedisSettings
from berthmaster.routing import runner_queues
from berthmaster.runner import mutex
from berthmaster.runner.narrow import narrowed
from berthmaster.runner.settings import RunnerRedis
from domain.pod_pools.runner_token import digest
from tests.integration.runner.conftest import POOL, RunnerPool
from tests.support.waiting import eventually
from workers.stores.slots.preload import TEXTS, preload
from workers.stores.slots.user import RunnerUser

PASSWORD = "x/y:z@ %"  # noqa: S105 - of a server that lives as long as the tests


@pytest.fixture
def user(redis: Redis) -> Any:
    made = RunnerUser(redis, POOL)
    assert made.ensure("1-a", [digest(PASSWORD)]) == ""
    redis.acl_log_reset()
    yield made
    redis.acl_deluser(made.name)


def told(user: RunnerUser, url: str) -> RunnerRedis:
    return RunnerRedis(url=url, username=user.name, password=SecretStr(PASSWORD))


def refusals(redis: Redis) -> set[str]:
    """What the server refused to anybody. SETINFO is a courtesy that not every server of ours knows."""
    log: Any = redis.acl_log()
    return {f"{entry['context']} {entry['object']}" for entry in log} - {
        "toplevel client|setinfo",
        "multi client|setinfo",
    }


@pytest.mark.row("SD-26")
@pytest.mark.parametrize("processes", ["prefork", "threads"])
def test_a_runner_needs_no_more_than_its_pools_user_may(
    pool: RunnerPool, user: RunnerUser, redis: Redis, processes: str
) -> None:
    more = {"BERTHMASTER_RUNNER__REDIS__USERNAME": user.name, "BERTHMASTER_RUNNER__REDIS__PASSWORD": PASSWORD}
    runner = pool.start("a", processes, **more)
    pool.ready("a")
    pool.submit("one")
    pool.submit("two", phases=("plan", "apply"))
    pool.submit("long", seconds=60)
    assert pool.reaches("one", "done").outcome == "succeeded"
    planned = pool.reaches("two", "reserved")
    pool.dispatcher.dispatch(pool.ledger.confirm("two", planned.attempt).placed)
    assert pool.reaches("two", "done").outcome == "succeeded"
    assert {c["user"] for c in redis.client_list() if c["cmd"] == "brpop"} == {user.name}
    assert refusals(redis) == set()
    if processes == "prefork":
        pool.ledger.cancel("long")
        assert pool.reaches("long", "done").outcome == "cancelled"
        assert runner.terminate() == 0
        assert refusals(redis) == set()


@pytest.mark.row("SD-26")
def test_a_message_that_was_not_acknowledged_comes_back_within_the_pool(
    user: RunnerUser, redis: Redis, redis_url: str
) -> None:
    transport_guard.install()
    mutex.install()
    redis.script_flush()
    options = narrowed(POOL, {"visibility_timeout": 0})["broker_transport_options"]
    queue = Queue(f"{runner_queues(POOL)}a")
    with Connection(told(user, redis_url).address, transport_options=options) as connection:
        channel: Any = connection.channel()
        queue(channel).declare()
        connection.Producer(channel).publish({"n": 1}, exchange="", routing_key=queue.name)
        assert queue(channel).get()
        assert redis.llen(queue.name) == 0
        channel.qos.restore_visible(interval=1)
        eventually(lambda: redis.llen(queue.name) == 1)
    assert refusals(redis) == set()


OTHERS = [
    ("GET", "{sp:ci/other}meta"),
    ("HGETALL", "{sp:ci/runners2}jobs"),
    ("HGETALL", "{queue}snap"),
    ("HSET", "{queue}meta", "cluster", "mine"),
    ("XRANGE", "{sp:ci/other}log:1-1", "-", "+"),
    ("XADD", "{sp:ci/other}log:1-1", "*", "text", "x"),
    ("XDEL", "{sp:ci/other}log:1-1", "1-1"),
    ("HGET", "{sp:ci/other}logs", "j"),
    ("XREAD", "STREAMS", "{sp:ci/other}log:1-1", "0"),
    ("LPUSH", "berthmaster.runner:ci/other:a", "x"),
    ("BRPOP", "berthmaster.latency", "1"),
    ("BRPOP", "berthmaster.runner:ci/runners.b:a", "1"),
    ("HGET", "unacked", "x"),
    ("SMEMBERS", "_kombu.binding.celery.pidbox"),
    ("EVAL", "return redis.call('GET', '{sp:ci/other}meta')", "0"),
    ("EVAL", "while true do end", "0"),
    ("EVAL_RO", "return 1", "0"),
    ("SCRIPT", "LOAD", "while true do end"),
    ("SCRIPT", "KILL"),
    ("FUNCTION", "LOAD", "#!lua name=mine\nserver.register_function('f', function() end)"),
    ("FCALL", "f", "0"),
    ("PUBLISH", "/0.celery.pidbox", "x"),
    ("SUBSCRIBE", "/0.celeryev"),
    ("SUBSCRIBE", "*"),
    ("PSUBSCRIBE", "*"),
    ("HSET", TEXTS, "x", "while true do end"),
    ("DEL", TEXTS),
    ("DEL", "{su:ci/runners}"),
    ("DEBUG", "OBJECT", "x"),  # refused by the server itself, unless it is told to allow it
    ("SHUTDOWN", "NOSAVE"),
    ("REPLICAOF", "NO", "ONE"),
    ("CLIENT", "KILL", "TYPE", "normal"),
    ("CLIENT", "PAUSE", "1000"),
    ("ACL", "SETUSER", "berthmaster:ci/runners", "+@all"),
    ("MIGRATE", "127.0.0.1", "1", "{sp:ci/runners}meta", "0", "1"),
    ("SWAPDB", "0", "1"),
    ("KEYS", "*"),
    ("SCAN", "0"),
    ("RANDOMKEY",),
    ("FLUSHALL",),
    ("CONFIG", "GET", "*"),
    ("ACL", "LIST"),
    ("CLIENT", "LIST"),
    ("SCRIPT", "FLUSH"),
    ("MONITOR",),
]


@pytest.mark.row("SD-26", "HO-05")
@pytest.mark.parametrize("command", OTHERS, ids=" ".join)
def test_what_is_not_of_the_pool_is_refused(user: RunnerUser, redis_url: str, command: tuple[str, ...]) -> None:
    with connect_state(RedisSettings(url=told(user, redis_url).address)) as client:
        assert client.hset("{sp:ci/runners}meta", "mark", 1) == 1
        with pytest.raises((NoPermissionError, ResponseError), match=r"(?i)permission|acl|not allowed"):
            client.execute_command(*command)


@pytest.mark.row("RD-23")
def test_a_runner_knows_the_redis_of_another_fleet(user: RunnerUser, redis: Redis, redis_url: str) -> None:
    own = RedisSettings(url=told(user, redis_url).address)
    redis.hset("{queue}meta", "cluster", "blue")
    with connect_state(own, Identity("blue")) as client:
        assert client.ping()
    with connect_state(own, Identity("green")) as client, pytest.raises(AnotherFleet):
        client.ping()
    redis.acl_setuser(user.name, enabled=True, reset_keys=True, keys=["{sp:ci/runners}*"])  # as versions before made it
    with connect_state(own, Identity("green")) as client:
        assert client.ping()


@pytest.mark.row("HO-05")
def test_a_script_that_others_loaded_reaches_no_further_than_the_user_itself(
    user: RunnerUser, redis: Redis, redis_url: str
) -> None:
    digest = redis.script_load("return redis.call('GET', '{sp:ci/other}meta')")
    with connect_state(RedisSettings(url=told(user, redis_url).address)) as client:
        with pytest.raises(ResponseError, match=r"(?i)permission|acl"):
            client.evalsha(digest, 0)
        with pytest.raises(NoScriptError):
            client.evalsha("0" * 40, 0)


@pytest.mark.row("HO-05")
def test_a_runner_waits_for_its_scripts_and_a_worker_loads_them(user: RunnerUser, redis: Redis, redis_url: str) -> None:
    worker = SlotLedger(redis, load_scripts(redis), POOL)
    worker.begin([])
    redis.script_flush()
    with connect_state(RedisSettings(url=told(user, redis_url).address)) as client:
        runner = SlotLedger(client, preloaded_scripts(client), POOL)
        with pytest.raises(TransientError, match=r"does not have script start"):
            runner.start("j", "plan", "a", "uid")
        assert preload(worker) == ""
        assert runner.start("j", "plan", "a", "uid") is None
    assert refusals(redis) == set()


@pytest.mark.row("HO-05")
def test_scripts_of_an_older_version_are_loaded_again_as_well(redis: Redis) -> None:
    worker = SlotLedger(redis, load_scripts(redis), POOL)
    old = "return 'of an older version'"
    redis.hset(TEXTS, sha1(old.encode()).hexdigest(), old)
    preload(worker)
    redis.script_flush()
    assert preload(worker) == ""
    assert redis.script_exists(sha1(old.encode()).hexdigest()) == [True]


@pytest.mark.row("SD-26")
def test_passwords_are_those_that_were_said_last_and_an_older_run_says_nothing(
    user: RunnerUser, redis: Redis, redis_url: str
) -> None:
    user.ensure("3-a", [digest(PASSWORD), digest("new")])
    for _ in range(2):
        with pytest.raises(StaleToken):
            user.ensure("2-b", [])
        with connect_state(RedisSettings(url=told(user, redis_url).address)) as client:
            assert client.ping()
    user.ensure("3-a", [digest("new")])
    with connect_state(RedisSettings(url=told(user, redis_url).address)) as client, pytest.raises(AuthenticationError):
        client.ping()
    user.remove("4-a")
    assert user.name not in redis.acl_users()


@pytest.mark.row("SD-26", "SL-13", "HO-05")
@pytest.mark.parametrize("processes", ["prefork", "threads"])
def test_a_runner_outlives_the_loss_of_its_user_and_scripts_and_a_new_password_beside_its_own(
    pool: RunnerPool, user: RunnerUser, redis: Redis, processes: str
) -> None:
    more = {"BERTHMASTER_RUNNER__REDIS__USERNAME": user.name, "BERTHMASTER_RUNNER__REDIS__PASSWORD": PASSWORD}
    runner = pool.start("a", processes, **more)
    pool.ready("a")
    pool.submit("long", seconds=3)
    pool.reaches("long", "running")
    redis.acl_deluser(user.name)
    redis.script_flush()
    time.sleep(5)
    assert preload(pool.ledger) == ""
    assert user.ensure("2-a", [digest("another"), digest(PASSWORD)]) == ""
    assert pool.reaches("long", "done").outcome == "succeeded"
    pool.submit("next")
    assert pool.reaches("next", "done", 60).outcome == "succeeded"
    assert runner.running()
    assert [line for line in pool.diary() if line.startswith("start long")] == ["start long plan"]
