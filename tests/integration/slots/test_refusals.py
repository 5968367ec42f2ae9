"""Submissions that nobody takes in: what their senders read, and what stays in Redis of a pool that does not exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from berthmaster import routing
from berthmaster.jobs.runner_ledger import NotVerified
from berthmaster.jobs.scripts import load_scripts
from berthmaster.jobs.slot_ledger import REFUSALS_KEPT, SlotLedger
from berthmaster.jobs.submission import Submission
from events.workqueue import Mark, Workqueue
from workers.celery_app.refused_submissions import tell_refusal
from workers.settings import WorkerSettings
from workers.tasks.payloads import PayloadRefused
from workers.tasks.pod_pools import TRIES_WITHOUT_POOL, take_in
from workers.wiring.process import Services

POOL = "ci/absent"
KEY = f"podpool/{POOL}"
RESULTS = f"{{sp:{POOL}}}results"
EPOCH = "1:publisher"
JOB = Submission(id="j", pool=POOL, task="work")


@pytest.fixture
def parts(redis_url: str) -> Services:
    nowhere = {"server": "http://127.0.0.1:1"}
    settings = {"cluster": "test", "redis": {"url": redis_url}, "kubernetes": nowhere}
    return Services(WorkerSettings.model_validate(settings))


@pytest.fixture
def ledger(redis: Redis) -> SlotLedger:
    """Of a pool that has no ledger yet."""
    return SlotLedger(redis, load_scripts(redis), POOL)


def published(redis: Redis, *marks: Mark) -> None:
    """A publisher has listed everything: these objects."""
    queue = Workqueue(redis, hint_queue=routing.LATENCY)
    assert queue.assume_epoch(EPOCH)
    queue.marks(EPOCH, list(marks), relist=True)
    assert queue.stamp(EPOCH)


def pod_pool(*, gone: bool = False) -> Mark:
    return Mark(KEY, 1, "uid", gone=gone, body=b"{}")


def refusals(redis: Redis) -> list[dict[str, str]]:
    entries: Any = redis.xrange(RESULTS)
    return [{name.decode(): value.decode() for name, value in fields.items()} for _, fields in entries]


@pytest.mark.row("ST-08")
def test_a_pool_counts_as_unknown_only_where_a_publisher_has_listed_all(redis: Redis, parts: Services) -> None:
    """Rule refused: until then the pool may be there, and the task tries again."""
    with pytest.raises(NotVerified):
        take_in(parts, JOB, TRIES_WITHOUT_POOL)
    published(redis)
    with pytest.raises(PayloadRefused, match="there is no PodPool ci/absent"):
        take_in(parts, JOB, TRIES_WITHOUT_POOL)


@pytest.mark.row("ST-08")
def test_a_pool_that_is_not_there_yet_may_be_on_its_way(redis: Redis, parts: Services) -> None:
    published(redis)
    with pytest.raises(NotVerified):
        take_in(parts, JOB, TRIES_WITHOUT_POOL - 1)


@pytest.mark.row("ST-08")
@pytest.mark.parametrize("gone, refusal", [(False, NotVerified), (True, PayloadRefused)])
def test_a_pool_that_exists_and_is_not_ready_is_waited_for_and_a_deleted_one_is_not(
    redis: Redis, parts: Services, gone: bool, refusal: type[Exception]
) -> None:
    published(redis, pod_pool(gone=gone))
    with pytest.raises(refusal):
        take_in(parts, JOB, TRIES_WITHOUT_POOL)


@pytest.mark.row("ST-08")
def test_the_refusals_of_a_pool_that_does_not_exist_expire(redis: Redis, ledger: SlotLedger) -> None:
    ledger.refuse("message-1", None, "why")
    assert 0 < redis.ttl(RESULTS) <= REFUSALS_KEPT.total_seconds()


@pytest.mark.row("ST-08")
def test_the_results_of_a_pool_that_begins_after_a_refusal_do_not_expire(redis: Redis, ledger: SlotLedger) -> None:
    """Rule refused: the script that begins the ledger keeps the stream."""
    ledger.refuse("message-1", "j", "why")
    ledger.begin([])
    assert redis.ttl(RESULTS) == -1


@pytest.mark.row("ST-08")
def test_a_refusal_of_a_pool_with_a_ledger_lets_nothing_expire(redis: Redis, ledger: SlotLedger) -> None:
    """Rule refused: its results are in the same stream."""
    ledger.begin([])
    ledger.refuse("message-1", "j", "why")
    assert redis.ttl(RESULTS) == -1


@pytest.mark.row("ST-08", "ST-25")
@pytest.mark.parametrize("call", [lambda ledger: ledger.begin([]), lambda ledger: ledger.refuse("m-2", "j", "why")])
def test_results_that_an_earlier_version_let_expire_are_kept(
    redis: Redis, ledger: SlotLedger, call: Callable[[SlotLedger], object]
) -> None:
    """Rule refused: a worker that does not know of the expiry has begun the ledger after a refusal."""
    ledger.begin([])
    ledger.refuse("message-1", "j", "why")
    redis.expire(RESULTS, 100)
    call(ledger)
    assert redis.ttl(RESULTS) == -1


@pytest.mark.row("ST-08")
@pytest.mark.parametrize(
    "args, kwargs, job",
    [
        ([{"id": "j", "pool": POOL}], {}, "j"),
        ([], {"job": {"id": "j", "pool": POOL}}, "j"),
        (({"id": "no id", "pool": POOL},), {}, None),
        ([{"pool": POOL, "id": ["j"]}, "surplus"], {}, None),
    ],
)
def test_a_refusal_names_the_message_and_the_job_if_that_can_be_read(
    redis: Redis, parts: Services, args: Any, kwargs: Any, job: str | None
) -> None:
    tell_refusal(parts, "message-1", args, kwargs, "why")
    about = {"job": job} if job else {}
    assert refusals(redis) == [{"state": "refused", "message": "message-1", "result": "why", **about}]


@pytest.mark.row("ST-08")
@pytest.mark.parametrize(
    "message, args, kwargs",
    [
        ("message-1", [], {}),
        ("message-1", None, None),
        ("message-1", [{"id": "j"}], {}),
        ("message-1", [{"id": "j", "pool": "no pool"}], {}),
        ("message-1", [{"id": "j", "pool": {"a": 1}}], {}),
        (None, [{"id": "j", "pool": POOL}], {}),
        ("x" * 300, [{"id": "j", "pool": POOL}], {}),
    ],
)
def test_a_submission_without_a_pool_or_an_id_of_its_message_writes_nothing(
    redis: Redis, parts: Services, message: object, args: Any, kwargs: Any
) -> None:
    tell_refusal(parts, message, args, kwargs, "why")
    assert redis.dbsize() == 0


@pytest.mark.row("ST-08")
def test_a_stream_that_is_none_keeps_no_task_from_its_end(redis: Redis, parts: Services) -> None:
    redis.set(RESULTS, "no stream")
    tell_refusal(parts, "message-1", [{"id": "j", "pool": POOL}], {}, "why")
    assert redis.get(RESULTS) == b"no stream"
