"""Jobs that a real worker takes in: from Celery senders, and from clients that could not place them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from celery import Celery
from redis import Redis

from berthmaster import routing
from berthmaster.client import Fleet, Request
from berthmaster.jobs.job import Job, PoolLimits
from berthmaster.jobs.messages import HEADER, placed_of, queue_of
from berthmaster.jobs.scripts import load_scripts
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.redis.incarnation import connect
from compose.sandbox.stack import Stack
from tests.support.jobs.slot_world import SlotWorld
from tests.support.redis_cli import path_with_redis_cli, stand_in
from tests.support.waiting import eventually

HOUR, HOUR_MS = timedelta(hours=1), 3_600_000
PAGE = (Path(__file__).parents[3] / "docs" / "jobs.md").read_text(encoding="utf-8")
(SENDER,) = [block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "send_task" in block]
"""The program of the page."""
OTHERS = (Path(__file__).parents[3] / "docs" / "other-languages.md").read_text(encoding="utf-8")
PAST = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A worker and a Redis. No publisher, so that no run of a pool comes."""
    with Stack(tmp_path_factory.mktemp("stack"), flower=False, workers=1) as stack:
        stack.redis.start()
        stack.kube.start()
        stack.workers[0].launch()
        eventually(lambda: stack.heartbeat(stack.workers[0].name).exists(), 120)
        yield stack


def message(world: SlotWorld) -> Job:
    """The job whose message comes to the pod."""
    queue = queue_of(world.ledger.pool, "pod-a")
    eventually(lambda: world.redis.llen(queue), 60)
    (sent,) = messages(world)
    return placed_of(sent["headers"][HEADER]).job


def messages(world: SlotWorld) -> list[dict[str, Any]]:
    """What the queue of the pod has."""
    texts: Any = world.redis.lrange(queue_of(world.ledger.pool, "pod-a"), 0, -1)
    return [orjson.loads(text) for text in texts]


@pytest.mark.row("SL-18", "SL-19", "SD-34")
def test_a_plain_celery_sender_gets_a_slot_under_the_spec_of_the_pool(stack: Stack) -> None:
    with connect(stack.redis.url) as redis:
        world = SlotWorld(redis, "plain/runners")
        world.ledger.resize("1-a", None, 0, 9, 1, PoolLimits(7 * HOUR, queue=2 * HOUR, run=3 * HOUR))
        world.add("a", ("*",))
        job = {"id": "j", "pool": world.ledger.pool, "task": "work", "run_timeout": 60}
        redis.lpush(routing.JOBS, routing.message(routing.SLOTS_SUBMIT, job))
        taken = message(world)
        assert (taken.hold_ms, taken.limits) == (7 * HOUR_MS, {"queue_ms": 2 * HOUR_MS, "run_ms": 60_000})


@pytest.mark.row("SL-18", "SL-19", "SD-34")
def test_a_worker_takes_in_what_a_client_cannot_place_before_the_first_run_of_the_pool(stack: Stack) -> None:
    with connect(stack.redis.url) as redis, Fleet(stack.redis.url) as fleet:
        world = SlotWorld(redis, "early/runners")
        world.add("a", ("*",))
        fleet.submit(Request("j", world.ledger.pool, "work", queue_timeout=HOUR))
        taken = message(world)
        assert (taken.hold_ms, taken.limits) == (24 * HOUR_MS, {"queue_ms": HOUR_MS})


def refusal(redis: Redis, pool: str, message: str) -> dict[str, str]:
    """What the sender of this message reads."""

    def entries() -> list[dict[str, str]]:
        stream: Any = redis.xrange(f"{{sp:{pool}}}results")
        texts = [{name.decode(): value.decode() for name, value in fields.items()} for _, fields in stream]
        return [fields for fields in texts if fields.get("message") == message]

    (entry,) = eventually(entries, 60)
    return entry


@pytest.mark.row("ST-08")
@pytest.mark.parametrize(
    "change, options, why",
    [
        ({"task": 7}, {}, "job.task: Input should be a valid string"),
        ({"id": "no id"}, {}, "job.id: "),
        ({"surplus": 1}, {}, "job.surplus: Extra inputs are not permitted"),
        ({}, {"link": Celery("other").signature("next")}, "body: callbacks: workers run no canvas"),
        ({}, {"expires": PAST}, "headers.expires: it was to run before 2020-01-01"),
        ({}, {"retries": 20}, "the slots of pod pool refused/runners are being verified"),
    ],
    ids=["task", "id", "surplus", "link", "expired", "not verified"],
)
def test_a_celery_sender_reads_why_its_job_is_refused(
    stack: Stack, change: dict[str, Any], options: dict[str, Any], why: str
) -> None:
    """Rule refused: by the check of the payload, by the consumer, and by the task that gives up."""
    job = {"id": "j", "pool": "refused/runners", "task": "work"} | change
    with connect(stack.redis.url) as redis, Celery("sender", broker=stack.redis.url, set_as_current=False) as app:
        sent = app.send_task(routing.SLOTS_SUBMIT, [job], queue=routing.JOBS, **options)
        entry = refusal(redis, "refused/runners", sent.id)
    assert (entry["state"], entry.get("job")) == ("refused", None if "id" in change else "j")
    assert entry["result"].startswith(why)


@pytest.mark.row("ST-08", "EV-21")
def test_the_program_of_the_page_reads_how_its_job_ended(stack: Stack) -> None:
    with program(stack, [sys.executable, "-c", SENDER]) as sender:
        assert ended(stack, "ci/runners", sender) == "succeeded 2 changes\n"


@pytest.mark.row("ST-08", "EV-21")
def test_the_program_of_the_page_reads_why_its_job_is_refused(stack: Stack) -> None:
    mistyped = SENDER.replace('"task": "deploy"', '"tusk": "deploy"')
    with program(stack, [sys.executable, "-c", mistyped]) as sender:
        said, _ = sender.communicate(timeout=60)
    assert said == "refused job.task: Field required; job.tusk: Extra inputs are not permitted\n"


@pytest.mark.row("ST-06")
def test_the_script_of_the_page_submits_a_job_from_another_language(stack: Stack, tmp_path: Path) -> None:
    """As the Redis user of the page, and with our own redis-cli where the machine has none."""
    (script,) = re.findall(r"```sh\n(.*?)```", OTHERS, re.DOTALL)
    (rights,) = re.findall(r"^ACL SETUSER shop .*$", OTHERS, re.MULTILINE)
    with connect(stack.redis.url) as redis:
        redis.execute_command(*rights.replace("ci/runners", "other/runners").split())
    url = re.sub("//.*@", "//shop:PASSWORD@", stack.redis.url)
    variables = {"BERTHMASTER_REDIS__URL": url, "PATH": path_with_redis_cli(tmp_path)}
    command = ["sh", "-eu", "-c", script.replace("ci/runners", "other/runners")]
    with program(stack, command, **variables) as sender:
        lines = ended(stack, "other/runners", sender).splitlines()
    entry = dict(zip(lines[2::2], lines[3::2], strict=True))  # after the names of the stream and of the entry
    assert (entry["job"], entry["state"], entry["result"]) == ("deploy-44", "succeeded", "2 changes")
    found = 'redis-cli -u "$BERTHMASTER_REDIS__URL" --raw XREAD STREAMS "{sp:other/runners}results" 0'
    with connect(stack.redis.url) as redis, program(stack, ["sh", "-c", found], **variables) as reader:
        assert reader.communicate(timeout=60)[0].splitlines() == lines  # as a service that was away finds it
        again, _ = SlotLedger(redis, load_scripts(redis), "other/runners").submit(Job("deploy-44", ("run",)))
        assert (again.state, redis.xlen("{sp:other/runners}results")) == ("done", 1)  # and nobody is told twice


@pytest.mark.row("ST-06")
def test_redis_cli_takes_the_address_of_the_sandbox(stack: Stack, tmp_path: Path) -> None:
    """The tutorial's `.sandbox/env` has it. Without its user, redis-cli logs in as a user without a name."""
    paths = {path_with_redis_cli(tmp_path), f"{stand_in(tmp_path)}:{os.environ['PATH']}"}
    command = ["sh", "-c", 'redis-cli -u "$BERTHMASTER_REDIS__URL" --raw PING; redis-cli -u "$NOBODY" --raw PING']
    url = stack.variables["BERTHMASTER_REDIS__URL"]
    for path in paths:
        nobody = re.sub("//[a-z]*:", "//:", url)
        environment = os.environ | {"PATH": path, "BERTHMASTER_REDIS__URL": url, "NOBODY": nobody}
        done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
        assert done.stdout.split("\n")[0] == "PONG", done.stderr
        assert "NOAUTH" in done.stdout


def ended(stack: Stack, pool: str, sender: subprocess.Popen[str]) -> str:
    """What the sender says once the job that it submits has run on a pod of the pool."""
    with connect(stack.redis.url) as redis:
        world = SlotWorld(redis, pool)
        world.ledger.resize("1-a", None, 0, 9, 1, PoolLimits(HOUR))
        world.add("a", ("*",))
        eventually(lambda: messages(world), 60)
        (sent,) = messages(world)
        placed = placed_of(sent["headers"][HEADER], "pod-a")
        assert world.deliver(placed)
        world.ledger.finish(placed.id, placed.phase, placed.attempt, "succeeded", "2 changes")
        said, _ = sender.communicate(timeout=60)
    return said


@contextmanager
def program(stack: Stack, command: Sequence[str], **variables: str) -> Iterator[subprocess.Popen[str]]:
    environment = os.environ | {"BERTHMASTER_REDIS__URL": stack.redis.url} | variables
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as running:
        try:
            yield running
        finally:
            running.kill()
