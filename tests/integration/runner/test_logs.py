"""What the tasks of real runners print, with the Redis user of their pool, is in the logs of their jobs."""

from __future__ import annotations

from typing import Any

import pytest
from redis import Redis

from berthmaster.jobs.logs import JobLogs
from domain.pod_pools.runner_token import digest
from tests.integration.runner.conftest import POOL, RunnerPool
from workers.stores.slots.user import RunnerUser

PASSWORD = "of a runner"  # noqa: S105 - of a server that lives as long as the tests


def printed(pool: RunnerPool, job: str) -> list[str]:
    return [line.text for line in JobLogs(pool.ledger).lines(job, follow=True)]


def said(word: str, *, thread: bool) -> list[str]:
    lines = [f"printed {word}", f"error {word}", f"INFO of-task: logged {word}", f"WARNING of-library: logged {word}"]
    return lines + ([f"thread {word}"] if thread else [])


@pytest.mark.row("UI-24", "UI-25", "SD-26")
@pytest.mark.parametrize("kind", ["prefork", "threads"])
def test_what_a_task_prints_and_logs_is_in_the_log_of_its_job(pool: RunnerPool, redis: Redis, kind: str) -> None:
    user = RunnerUser(redis, POOL)
    assert user.ensure("1-a", [digest(PASSWORD)]) == ""
    redis.acl_log_reset()
    more = {"BERTHMASTER_RUNNER__REDIS__USERNAME": user.name, "BERTHMASTER_RUNNER__REDIS__PASSWORD": PASSWORD}
    runner = pool.start("a", kind, **more)
    for word in ("one", "two", "three"):
        pool.submit(word, "talk", word=word, fails=word == "three")
    pool.submit("quiet")
    pool.ready("a")
    for word in ("one", "two"):
        assert printed(pool, word) == said(word, thread=kind == "prefork")
    failed = printed(pool, "three")
    assert failed[:4] == said("three", thread=False)
    assert [line for line in failed if line.startswith("Traceback")] != []
    assert failed[-1] == "RuntimeError: as it was told"
    assert pool.reaches("quiet", "done").outcome == "succeeded"
    assert JobLogs(pool.ledger).attempts("quiet") == ()
    assert "printed one" in runner.log_file.read_text()
    refusals: Any = redis.acl_log()
    assert {entry["object"] for entry in refusals} <= {"client|setinfo"}
    redis.acl_deluser(user.name)


@pytest.mark.row("UI-24")
def test_a_pool_without_logs_keeps_none(pool: RunnerPool) -> None:
    pool.start("a", "threads", BERTHMASTER_RUNNER__LOG_BYTES="0")
    pool.submit("one", "talk", word="one")
    pool.ready("a")
    assert pool.reaches("one", "done").outcome == "succeeded"
    assert JobLogs(pool.ledger).attempts("one") == ()
