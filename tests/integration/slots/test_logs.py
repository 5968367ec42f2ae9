"""The logs of jobs in Redis: written once, bounded, and deleted with their jobs."""

from __future__ import annotations

from typing import Any

import pytest
from redis import Redis

from berthmaster.jobs.logs import LINES, JobLogs, LogPage, LogPosition, NoSuchLog
from berthmaster.jobs.runner_ledger import LogBounds
from tests.support.jobs.damage import lose
from tests.support.jobs.job_lines import BOUNDS, write_lines
from tests.support.jobs.slot_world import SlotWorld

POOL = "ci/runners"


def running(world: SlotWorld, job: str = "j") -> str:
    """A job that runs; its attempt."""
    if not world.runners:
        world.add("a")
    world.submit(job)
    before = set(world.runners["a"].running)
    world.deliver_all()
    (attempt,) = set(world.runners["a"].running) - before
    return attempt


def texts(world: SlotWorld, job: str = "j", attempt: str | None = None) -> list[str]:
    return [line.text for line in JobLogs(world.ledger).lines(job, attempt)]


def log_keys(redis: Redis) -> list[str]:
    names: Any = redis.keys("{sp:ci/runners}log:*")
    return sorted(name.decode() for name in names)


@pytest.mark.row("UI-21")
def test_a_batch_whose_answer_was_lost_is_not_in_the_log_twice(world: SlotWorld) -> None:
    """Rule lineonce."""
    attempt = running(world)
    for _ in range(2):
        assert write_lines(world.ledger, "j", attempt, "one", "two")
        assert write_lines(world.ledger, "j", attempt, "three", first=3)
    for _ in range(2):
        assert write_lines(world.ledger, "j", attempt, first=4, ended=True)
    lines = list(JobLogs(world.ledger).lines("j"))
    assert [(line.number, line.text, line.missing) for line in lines] == [(1, "one", 0), (2, "two", 0), (3, "three", 0)]
    page = JobLogs(world.ledger).page(attempt, LogPosition())
    assert (page.ended, page.more, page.after.number) == (True, False, 3)


@pytest.mark.row("UI-21")
@pytest.mark.parametrize("odd", [10**15, 10**16, 2**64, "9" * 5000, -1, "\u0663"])
def test_an_entry_with_numbers_that_no_log_reaches_hides_no_line(world: SlotWorld, redis: Redis, odd: Any) -> None:
    """A runner's own user may write it. The position after it is one that a page can send back."""
    attempt = running(world)
    write_lines(world.ledger, "j", attempt, "one")
    key = f"{world.ledger.prefix}log:{attempt}"
    for first, last in ((1, odd), (odd, odd)):
        redis.xadd(key, {"first": first, "last": last, "text": "odd", "ended": ""})
    page = JobLogs(world.ledger).page(attempt, LogPosition())
    assert [(line.number, line.text) for line in page.lines] == [(1, "one")]
    assert LogPosition.parse(str(page.after)) == page.after
    assert JobLogs(world.ledger).page(attempt, page.after).after == page.after


@pytest.mark.row("UI-21")
@pytest.mark.parametrize(
    "odd",
    ["", "1", "1-1", "-1-1:1", "1-1:-1", f"{2**64}-0:1", f"0-{2**64}:1", f"1-1:{10**15}", "1-1:\u0663", "1-1:1\n"],
)
def test_a_text_that_redis_takes_for_no_position_is_refused(odd: str) -> None:
    with pytest.raises(ValueError, match="is no position in a log"):
        LogPosition.parse(odd)
    greatest = f"{2**64 - 1}-{2**64 - 1}:{10**15 - 1}"
    assert str(LogPosition.parse(greatest)) == greatest


@pytest.mark.row("UI-21")
def test_the_oldest_lines_go_and_a_reader_learns_how_many(world: SlotWorld, redis: Redis) -> None:
    attempt, text = running(world), "x" * 1000
    for number in range(1, 201):
        write_lines(world.ledger, "j", attempt, f"{number} {text}", first=number)
    lines = list(JobLogs(world.ledger).lines("j"))
    assert lines[-1].number == 200
    assert 50 <= len(lines) <= 65
    assert lines[0].missing == lines[0].number - 1 > 100
    assert [line.missing for line in lines[1:]] == [0] * (len(lines) - 1)
    (key,) = log_keys(redis)
    used: Any = redis.memory_usage(key)
    assert used < 2 * BOUNDS.attempt
    for number in range(201, 2201):  # each of them costs more than its text
        write_lines(world.ledger, "j", attempt, "", first=number)
    used = redis.memory_usage(key)
    assert used < 2 * BOUNDS.attempt


@pytest.mark.row("UI-21")
def test_lines_that_the_runner_could_not_write_are_counted(world: SlotWorld) -> None:
    attempt = running(world)
    write_lines(world.ledger, "j", attempt, "one")
    write_lines(world.ledger, "j", attempt, "nine", "ten", first=9)
    assert [line.missing for line in JobLogs(world.ledger).lines("j")] == [0, 7, 0]


@pytest.mark.row("UI-21")
def test_a_page_has_a_bounded_number_of_lines_however_short_they_are(world: SlotWorld) -> None:
    attempt, bounds = running(world), LogBounds(256 * 1024, 1024 * 1024)
    for first in (1, 16_002):
        write_lines(world.ledger, "j", attempt, *[""] * 16_000, first=first, bounds=bounds)
    write_lines(world.ledger, "j", attempt, "last", first=32_002, ended=True)
    logs, after, pages = JobLogs(world.ledger), LogPosition(), list[LogPage]()
    while (page := logs.page(attempt, after)).after != after:
        pages.append(page)
        after = LogPosition.parse(str(page.after))
    assert [len(page.lines) for page in pages] == [*[LINES] * 16, 1]
    assert [(page.more, page.ended) for page in pages] == [*[(True, False)] * 16, (False, True)]
    lines = [line for page in pages for line in page.lines]
    assert [line.number for line in lines] == [*range(1, 16_001), *range(16_002, 32_003)]
    assert [line.number for line in lines if line.missing] == [16_002]
    assert list(logs.lines("j")) == lines


@pytest.mark.row("UI-22")
def test_the_present_attempt_is_shown_though_a_lost_one_has_printed_its_first_line_later(world: SlotWorld) -> None:
    lost = running(world)
    world.kill("a")
    world.add("b")
    world.deliver_all()
    present = world.only("b")
    write_lines(world.ledger, "j", present, "of the present one")
    write_lines(world.ledger, "j", lost, "of the lost one")
    assert texts(world) == ["of the present one"]


@pytest.mark.row("UI-21")
def test_a_reader_goes_on_behind_an_entry_that_is_none_of_ours(world: SlotWorld, redis: Redis) -> None:
    """A runner may write to its pool's keys what it likes."""
    attempt = running(world)
    write_lines(world.ledger, "j", attempt, "one")
    for _ in range(200):  # more than are read at once
        redis.xadd(f"{{sp:{POOL}}}log:{attempt}", {"first": "x"})
    write_lines(world.ledger, "j", attempt, "two", first=2)
    assert texts(world) == ["one", "two"]


@pytest.mark.row("UI-22")
def test_a_log_goes_with_the_record_of_its_job_and_nobody_writes_it_afterwards(world: SlotWorld, redis: Redis) -> None:
    """Rule logofjob."""
    attempt, other = running(world), running(world, "other")
    write_lines(world.ledger, "j", attempt, "text")
    write_lines(world.ledger, "other", other, "text")
    world.ended("a", attempt)
    redis.zadd(f"{world.ledger.prefix}ended", {"j": 1})
    world.sweep()
    assert log_keys(redis) == [f"{world.ledger.prefix}log:{other}"]
    assert not write_lines(world.ledger, "j", attempt, "late", first=2)
    assert log_keys(redis) == [f"{world.ledger.prefix}log:{other}"]
    assert world.redis.hget(f"{world.ledger.prefix}meta", "log_bytes") == b"4676"
    lose(world, "other")
    world.kill("a")
    assert world.ledger.forget("9-z")
    assert log_keys(redis) == []


@pytest.mark.row("UI-22")
def test_the_logs_of_a_pool_are_bounded_and_those_go_that_were_written_least_recently(
    world: SlotWorld, redis: Redis
) -> None:
    bounds = LogBounds(64 * 1024, 20_000)
    first, second = running(world, "first"), running(world, "second")
    write_lines(world.ledger, "first", first, "x" * 4000, bounds=bounds)
    write_lines(world.ledger, "second", second, "x" * 4000, bounds=bounds)
    redis.zadd(f"{world.ledger.prefix}logged", {"first": 2, "second": 1})
    write_lines(world.ledger, "first", first, "x" * 4000, first=2, bounds=bounds)
    assert log_keys(redis) == [f"{world.ledger.prefix}log:{first}"]
    write_lines(world.ledger, "first", first, "x" * 4000, first=3, bounds=bounds)  # alone it may go beyond
    assert len(texts(world, "first")) == 3
    with pytest.raises(NoSuchLog, match=r"its log is gone\. With a log: none"):
        texts(world, "second", "1-1")
    write_lines(world.ledger, "second", second, "more", first=2, bounds=bounds)
    (line,) = JobLogs(world.ledger).lines("second")
    assert (line.text, line.missing) == ("more", 1)
    assert log_keys(redis) == [f"{world.ledger.prefix}log:{second}"]


def small_logs(world: SlotWorld, redis: Redis, count: int, bounds: LogBounds) -> None:
    """So many jobs, each of which has printed one line."""
    redis.hset(f"{world.ledger.prefix}jobs", mapping={f"small-{number}": "{}" for number in range(count)})
    for number in range(count):
        write_lines(world.ledger, f"small-{number}", f"8-{number}", "deployed", bounds=bounds)


@pytest.mark.row("UI-22")
def test_thousands_of_small_logs_take_no_more_memory_than_their_pool_may_have(world: SlotWorld, redis: Redis) -> None:
    bounds = LogBounds(64 * 1024, 1024 * 1024)
    small_logs(world, redis, 2000, bounds)
    keys = [*log_keys(redis), f"{world.ledger.prefix}logs", f"{world.ledger.prefix}logged"]
    used: Any = [redis.memory_usage(key, samples=0) for key in keys]
    assert sum(used) <= bounds.pool
    assert sum(used) > bounds.pool * 0.9  # and no less than it may
    redis.delete(f"{world.ledger.prefix}jobs")


@pytest.mark.row("UI-22")
def test_a_call_drops_the_logs_of_a_hundred_jobs_and_the_next_calls_go_on(world: SlotWorld, redis: Redis) -> None:
    small_logs(world, redis, 250, LogBounds(64 * 1024, 16 * 1024 * 1024))
    lower = LogBounds(64 * 1024, 100_000)
    left = []
    for number in range(1, 4):
        write_lines(world.ledger, "small-0", "8-0", "again", first=1 + number, bounds=lower)
        left.append(len(log_keys(redis)))
    assert left == [150, 50, 21]
    redis.delete(f"{world.ledger.prefix}jobs")


@pytest.mark.row("UI-21")
def test_the_lines_that_came_last_are_kept_however_small_the_bound(world: SlotWorld) -> None:
    attempt, bounds = running(world), LogBounds(10, 0)
    for number in (1, 2):
        write_lines(world.ledger, "j", attempt, f"line {number}", first=number, bounds=bounds)
        assert texts(world) == [f"line {number}"]
    assert world.redis.hget(f"{world.ledger.prefix}meta", "log_bytes") == b"%d" % (4608 + 64 + len("line 2"))


@pytest.mark.row("UI-22")
def test_each_attempt_has_a_log_of_its_own_and_the_last_ten_are_kept(world: SlotWorld) -> None:
    present = running(world)
    for number in range(1, 12):
        write_lines(world.ledger, "j", f"7-{number}", f"of {number}")
    write_lines(world.ledger, "j", present, "of the present one")
    write_lines(world.ledger, "j", "7-11", "late", first=2)
    assert texts(world, attempt="7-11") == ["of 11", "late"]
    assert texts(world) == ["of the present one"]
    assert [log.attempt for log in JobLogs(world.ledger).attempts("j")] == [f"7-{n}" for n in range(3, 12)] + [present]
    with pytest.raises(NoSuchLog, match=r"has no attempt 7-2, or its log is gone\. With a log: 7-3 \(plan\)"):
        texts(world, attempt="7-2")
