"""A runner may write every key of its pool. Whatever it writes there, it is one pool that cannot be read, and no other.

Records that are none leave the lines, so that they stop nobody for ever, and are shown until somebody repairs them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any, cast

import orjson
import pytest
from redis import Redis

from berthmaster.jobs.job import Job
from berthmaster.jobs.results import Results
from berthmaster.jobs.runner_ledger import NotVerified
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.unreadable import UnreadableLedger
from tests.support.jobs.slot_world import DAY, SlotWorld
from workers.pod_pools.decision_log import latest_decision
from workers.stores.claims.room import population
from workers.stores.pool_names import PodPoolNames
from workers.stores.slots.claimable import forget_claimable, page, present_revision
from workers.stores.slots.view import ends, jobs, place_of, pool_sizing, times, unreadable_jobs, unstopped_jobs, view
from workers.stores.tally import Tally

GOOD, BROKEN = "ci/good", "ci/broken"
VALUES: tuple[Any, ...] = (
    "",
    "x",
    "{",
    "[]",
    "{}",
    "null",
    "1e999",
    "-1",
    "\x00\xff",
    '{"s":1}',
    '{"n":"../../../pods"}',
)
KEYS = (
    *(
        "meta",
        "pods",
        "jobs",
        "keyed",
        "sigs",
        "classes",
        "due",
        "later",
        "sent",
        "limits",
        "stopping",
        "undecided",
        "ended",
        "expect",
        "names",
        "results",
    ),
    *("claimable", "claimable-facts", "unready", "decision", "sizes", "watched", "free:*", "blocked:k"),
    *("wait:apply,plan", "owned:a"),
)


@pytest.fixture
def good(redis: Redis) -> SlotWorld:
    return filled(redis, GOOD)


@pytest.fixture
def broken(redis: Redis) -> SlotWorld:
    return filled(redis, BROKEN)


def filled(redis: Redis, pool: str) -> SlotWorld:
    """With a job that runs, one that is reserved, and some that wait."""
    world = SlotWorld(redis, pool)
    world.add("u1", ("*", ",plan,"))
    for number in range(4):
        world.ledger.submit(Job(f"j{number}", ("plan", "apply"), serial_key="k"))
    PodPoolNames(redis).add(pool)
    return world


def questions(ledger: SlotLedger) -> dict[str, Callable[[], Any]]:
    """Everything that a worker, a scrape or a command asks of a pool."""
    job = Job("new", ("plan",))
    return {
        "view": lambda: view(ledger),
        "standing": lambda: pool_sizing(ledger),
        "jobs": lambda: [place_of(ledger, each) for each in jobs(ledger)],
        "ends": lambda: ends(ledger),
        "times": lambda: times(ledger),
        "unstopped": lambda: unstopped_jobs(ledger, timedelta(0)),
        "recorded": lambda: latest_decision(ledger),
        "population": lambda: population(ledger),
        "revision": lambda: present_revision(ledger),
        "page": lambda: page(ledger, "a", 0, 10),
        "sweep": lambda: ledger.sweep(DAY),
        "submit": lambda: ledger.submit(job),
        "cancel": lambda: ledger.cancel("j1"),
        "confirm": lambda: ledger.confirm("j0", "1-1"),
        "start": lambda: ledger.start("j0", "plan", "1-1", "u1"),
        "finish": lambda: ledger.finish("j0", "plan", "1-1", "succeeded"),
        "undo": lambda: ledger.undo("j0", "1-1", DAY),
        "resize": lambda: ledger.resize("9-a", 1, 0, 9, 1),
        "fence": lambda: ledger.fence("u1", "t", 0),
        "hold": lambda: ledger.record_claim("u1", "t"),
        "open": lambda: ledger.open("u1", "t"),
        "gone": lambda: ledger.remove_pod("u1"),
        "verification": ledger.verification,
        "never ready": lambda: ledger.never_ready("r", timedelta(0)),
        "forget claimable": lambda: forget_claimable(ledger),
    }


def readable_gauges(redis: Redis) -> dict[tuple[str, ...], float]:
    return Tally(redis, (), {}).read()["berthmaster_pool_readable"]


def numbers_of_good(redis: Redis) -> dict[tuple[str, ...], float]:
    read = Tally(redis, (), {}).read().items()
    return {(gauge, *labels): n for gauge, samples in read for labels, n in samples.items() if GOOD in labels}


def vandalise(redis: Redis, chance: random.Random) -> None:
    """One key of the pool: of another type, or with a value that is none of ours."""
    key, value = f"{{sp:{BROKEN}}}{chance.choice(KEYS)}", chance.choice(VALUES)
    kind = cast("bytes", redis.type(key)).decode() if chance.random() < 0.8 else "another"
    if kind == "hash":
        fields: Any = redis.hkeys(key)
        redis.hset(key, chance.choice(fields), value)
        redis.hset(key, chance.choice(VALUES), value)
    elif kind == "zset":
        redis.zadd(key, {value: chance.choice((0, -1, 1e18, float("inf")))})
    elif kind == "set":
        redis.sadd(key, value)
    else:
        redis.delete(key)
        redis.set(key, value)


@pytest.mark.row("HO-07")
@pytest.mark.parametrize("seed", range(40))
def test_whatever_a_runner_writes_concerns_its_own_pool_alone(redis: Redis, seed: int) -> None:
    """Each question is answered, or ends in the one error that says which pool it is; numbers of others stay."""
    filled(redis, GOOD)
    world, chance = filled(redis, BROKEN), random.Random(seed)
    before = numbers_of_good(redis)
    for _ in range(3):
        vandalise(redis, chance)
        for ask in questions(world.ledger).values():
            with suppress(UnreadableLedger, NotVerified):
                ask()
        assert numbers_of_good(redis) == before


@pytest.mark.row("HO-07")
def test_a_pool_that_cannot_be_read_is_named_by_a_gauge_and_others_are_counted(
    redis: Redis, good: SlotWorld, broken: SlotWorld
) -> None:
    assert readable_gauges(redis) == {(GOOD,): 1, (BROKEN,): 1}
    redis.hset(f"{broken.ledger.prefix}pods", "u1", "nonsense")
    numbers = Tally(redis, (), {}).read()
    assert numbers["berthmaster_pool_readable"] == {(GOOD,): 1, (BROKEN,): 0}
    assert {labels[0] for labels in numbers["berthmaster_jobs"]} == {GOOD}
    redis.set(f"{broken.ledger.prefix}jobs", "a text")
    assert readable_gauges(redis) == {(GOOD,): 1, (BROKEN,): 0}


@pytest.mark.row("HO-07")
@pytest.mark.parametrize("name", ["../../../pods", "a/b", "", "a:b", "..", 7, None])
def test_a_forged_name_of_a_pod_becomes_no_path_and_no_queue(redis: Redis, broken: SlotWorld, name: object) -> None:
    key = f"{broken.ledger.prefix}pods"
    stored: Any = redis.hget(key, "u1")
    redis.hset(key, "u1", orjson.dumps(orjson.loads(stored) | {"n": name}))
    with pytest.raises(UnreadableLedger):
        view(broken.ledger)
    redis.delete(f"{broken.ledger.prefix}sent")
    redis.zadd(f"{broken.ledger.prefix}sent", {"j0": 0})
    if isinstance(name, str):
        with pytest.raises(UnreadableLedger):
            broken.ledger.sweep(DAY)
    facts = {"uid": "u1", "name": name, "revision": "r", "created": "2026-01-01T00:00:00+00:00", "lastOwner": ""}
    redis.hset(f"{broken.ledger.prefix}claimable-facts", "u2", orjson.dumps(facts | {"labels": {}}))
    redis.hset(key, "u2", orjson.dumps({"n": "p", "v": "open", "k": "", "t": 1, "l": {}, "s": {}}))
    redis.zadd(f"{broken.ledger.prefix}claimable", {"u2": 1})
    with pytest.raises(UnreadableLedger):
        page(broken.ledger, "", 0, 10)


@pytest.mark.row("HO-07")
@pytest.mark.parametrize("index", ["due", "later", "sent"])
@pytest.mark.parametrize("record", [None, "nonsense", "[]", '{"s":"placed"}'])
def test_a_broken_job_record_stops_the_sweep_of_its_pool_for_no_one(
    redis: Redis, broken: SlotWorld, index: str, record: str | None
) -> None:
    prefix = broken.ledger.prefix
    redis.zadd(f"{prefix}{index}", {"ghost": 0})
    if record:
        redis.hset(f"{prefix}jobs", "ghost", record)
    broken.ledger.sweep(DAY)
    assert redis.zscore(f"{prefix}{index}", "ghost") is None
    assert redis.hget(f"{prefix}jobs", "ghost") == (record and record.encode())
    assert unreadable_jobs(broken.ledger) == (("ghost",) if record else ())
    assert view(broken.ledger).waiting


@pytest.mark.row("HO-07")
def test_a_broken_record_at_the_head_of_a_line_is_passed(redis: Redis, broken: SlotWorld) -> None:
    prefix = broken.ledger.prefix
    redis.hset(f"{prefix}jobs", "ghost", "nonsense")
    redis.zadd(f"{prefix}wait:plan", {"ghost": -1})
    redis.sadd(f"{prefix}sigs", "plan")
    redis.zadd(f"{prefix}free:*", {"gone": -99})
    broken.add("u2")
    broken.ledger.sweep(DAY)
    record, _ = broken.ledger.submit(Job("other", ("plan",)))
    assert record.uid
    assert redis.zscore(f"{prefix}wait:plan", "ghost") is None


@pytest.mark.row("HO-07")
def test_an_entry_of_results_that_is_none_of_ours_is_left_out(redis: Redis, broken: SlotWorld) -> None:
    redis.xadd(f"{broken.ledger.prefix}results", {"job": b"\xff"})
    redis.xadd(f"{broken.ledger.prefix}results", {"job": "j", "state": "done", "attempt": "1-1", "result": ""})
    assert [each.job for each in Results(redis, BROKEN).since("0", timedelta(milliseconds=1))] == ["j"]
