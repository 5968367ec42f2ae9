"""Records of jobs and pods that are lost or cannot be read: they are shown, block nobody, and are restored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from berthmaster.jobs.runner_ledger import NotVerified
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.unreadable import UnreadableLedger
from tests.support.jobs.damage import Break, holder_and_next, lose, spoil
from tests.support.jobs.slot_world import DAY, SlotWorld
from workers.stores.slots.view import unreadable_jobs

BREAKS = pytest.mark.parametrize("damage", [lose, spoil])


def raw(redis: Redis) -> dict[str, Any]:
    return {name: redis.hgetall(f"{{sp:ci/runners}}{name}") for name in ("jobs", "pods", "keyed")}


CALLS: dict[str, Callable[[SlotWorld], object]] = {
    "submit": lambda world: world.submit("j"),
    "sweep": lambda world: world.sweep(),
    "remove_pod": lambda world: world.ledger.remove_pod("a"),
    "open": lambda world: world.open("a"),
    "quarantine": lambda world: world.ledger.quarantine("a"),
    "record_claim": lambda world: world.ledger.record_claim("a", "t"),
    "report": lambda world: world.beat("a"),
    "cancel": lambda world: world.cancel("j"),
    "finish": lambda world: world.ledger.finish("j", "plan", "1-1", "failed"),
}


@pytest.mark.row("HO-07")
@pytest.mark.parametrize("call", CALLS)
def test_a_worker_of_another_version_changes_no_record_that_it_cannot_read(redis: Redis, call: str) -> None:
    """Rule ownversion: in a mixed rollout records and stamps are of the other version."""
    world = SlotWorld(redis)
    world.add("a")
    world.submit("j", serial_key="w")
    prefix = world.ledger.prefix
    redis.hset(f"{prefix}jobs", "j", '{"form": 2}')
    redis.hset(f"{prefix}pods", "a", '{"form": 2}')
    redis.zadd(f"{prefix}later", {"j": 0})
    redis.hset(f"{prefix}meta", mapping={"inc": "a:b:v2", "seen": "a:b:v2"})
    before = raw(redis)
    with pytest.raises(NotVerified):
        CALLS[call](world)
    assert raw(redis) == before


@pytest.mark.row("HO-07")
def test_a_new_verification_keeps_a_record_that_it_cannot_read(redis: Redis) -> None:
    """Rule ownversion."""
    world = SlotWorld(redis)
    spoil(world, "j")
    redis.hset(f"{world.ledger.prefix}meta", mapping={"inc": "other", "seen": "other"})
    world.begin()
    assert redis.hexists(f"{world.ledger.prefix}jobs", "j")


@pytest.mark.row("SL-03")
def test_a_job_is_taken_in_while_its_pool_is_verified_and_not_before(redis: Redis) -> None:
    """A submission before anybody began would be forgotten by the one who begins."""
    world = SlotWorld(redis)
    world.add("a")
    redis.hset(f"{world.ledger.prefix}meta", mapping={"inc": "other", "seen": "other"})
    with pytest.raises(NotVerified):
        world.submit("j")
    world.begin()
    assert world.submit("j").state == "waiting"
    world.beat("a")
    world.beat("a")
    world.open("a")
    assert world.state("j") == "placed"


@pytest.mark.row("HO-07")
def test_an_unreadable_record_is_named_by_each_sweep_until_its_client_submits_it_again(world: SlotWorld) -> None:
    """Rule unreadable."""
    world.submit("j")
    spoil(world, "j")
    world.add("a")
    assert world.ledger.sweep(DAY).unreadable == ("j",)
    assert world.ledger.sweep(DAY).unreadable == ("j",)
    assert unreadable_jobs(world.ledger) == ("j",)
    with pytest.raises(UnreadableLedger):
        world.ledger.record("j")
    assert world.submit("j").state == "placed"
    assert (unreadable_jobs(world.ledger), world.ledger.sweep(DAY).unreadable) == ((), ())


def test_an_unreadable_record_at_the_head_of_a_line_keeps_no_other_job_from_a_free_slot(world: SlotWorld) -> None:
    """Rule wakes."""
    world.add("a", layout=("*",))
    for job in ("one", "two", "three"):
        world.submit(job, "apply")
    world.deliver_all()
    world.beat("a")
    spoil(world, "two")
    world.ended("a", world.only())
    assert world.state("three") == "placed"
    assert world.submit("two", "apply").state == "waiting"


@pytest.mark.row("HO-07", "SL-24")
@BREAKS
@pytest.mark.parametrize("started", [True, False])
def test_slot_and_key_of_a_lost_record_are_freed_once_its_runner_has_not_listed_it(
    world: SlotWorld, damage: Break, started: bool
) -> None:
    """Rule unowned."""
    holder_and_next(world)
    if started:
        world.deliver_all()
        world.beat("a")
    damage(world, "one")
    world.sweep()
    assert world.state("two") == "waiting"
    world.runners["a"].running.clear()
    world.beat("a")
    world.sweep()
    assert world.state("two") == "placed"
    lose(world, "one")  # so that the books are read


@pytest.mark.row("HO-07", "SL-24")
@BREAKS
def test_slot_and_key_of_a_lost_record_stay_taken_while_its_runner_runs_it(redis: Redis, damage: Break) -> None:
    """Rule unowned: also where the runner cannot say what its client asked for."""
    world = SlotWorld(redis)
    holder_and_next(world)
    world.deliver_all()
    damage(world, "one")
    world.runners["a"].jobs.clear()
    for _ in range(3):
        assert not world.beat("a").accepted
        world.sweep()
    assert world.state("two") == "waiting"
    assert redis.hget(f"{world.ledger.prefix}keyed", "w") == b"one"


@pytest.mark.row("HO-07", "SL-24")
@BREAKS
def test_a_report_restores_the_record_of_what_runs(world: SlotWorld, damage: Break) -> None:
    """Rule restored."""
    holder_and_next(world)
    world.deliver_all()
    damage(world, "one")
    world.beat("a")
    assert (world.state("one"), world.state("two")) == ("running", "waiting")
    world.ended("a", world.only())
    assert (world.state("one"), world.state("two")) == ("done", "placed")


@pytest.mark.row("HO-07")
@BREAKS
def test_a_job_without_a_record_that_may_run_is_not_taken_in_anew(world: SlotWorld, damage: Break) -> None:
    """Rule doubtful: it would run beside itself."""
    holder_and_next(world)
    world.add("b", layout=("*",))
    world.deliver_all()
    damage(world, "one")
    with pytest.raises(UnreadableLedger):
        world.submit("one", "apply", serial_key="w")
    world.beat("a")
    assert world.submit("one", "apply", serial_key="w").state == "running"


@pytest.mark.row("HO-07")
def test_the_slot_of_an_older_attempt_costs_the_present_one_nothing(world: SlotWorld) -> None:
    world.add("a", layout=("*",))
    world.submit("j", "apply", when_lost="fail")
    world.deliver_all()
    world.beat("a")
    lose(world, "j")
    world.add("b", layout=("*",))
    world.submit("j", "apply", when_lost="fail")
    world.deliver_all()
    world.runners["a"].running.clear()
    world.beat("a")
    assert (world.state("j"), world.record("j").uid) == ("running", "b")


@pytest.mark.row("HO-07", "SL-24")
@BREAKS
def test_a_key_goes_past_a_broken_record_to_the_next_that_waits(world: SlotWorld, damage: Break) -> None:
    """Rule wakes."""
    holder_and_next(world)
    world.submit("three", "apply", serial_key="w")
    world.deliver_all()
    damage(world, "two")
    world.ended("a", world.only())
    assert world.state("three") == "placed"
    lose(world, "two")


@pytest.mark.row("HO-07", "SL-24", "SL-25")
@BREAKS
def test_who_waits_behind_a_key_that_is_free_goes_before_who_comes_later(world: SlotWorld, damage: Break) -> None:
    """Rule behind: the key was offered to a job whose record broke before a slot was free."""
    holder_and_next(world)
    world.submit("three", "apply", serial_key="w")
    world.deliver_all()
    world.submit("urgent", "apply", priority=0)
    world.ended("a", world.only())
    assert (world.state("urgent"), world.state("two")) == ("placed", "waiting")
    damage(world, "two")
    world.submit("four", "apply", serial_key="w")
    world.cancel("urgent")
    world.sweep()
    assert (world.state("three"), world.state("four")) == ("placed", "waiting")
    lose(world, "two")


@pytest.mark.row("SL-24", "SL-25")
def test_who_needs_its_key_no_more_is_not_overtaken_by_who_never_did(world: SlotWorld) -> None:
    """Rule relined: a pod comes whose slots take plans only, so that plans of one key run side by side."""
    world.add("a", layout=("*",))
    for job in ("one", "two"):
        world.submit(job, "plan", serial_key="w")
    assert world.state("two") == "waiting"
    world.add("b", layout=(",plan,",))
    world.submit("three", "plan", serial_key="w")
    assert (world.state("two"), world.state("three")) == ("placed", "waiting")


@pytest.mark.row("HO-07")
@BREAKS
def test_a_report_restores_the_slots_of_a_pod_whose_record_is_lost(world: SlotWorld, damage: Break) -> None:
    """Else a second process gets a slot that is in use."""
    world.add("a", layout=("*", "*"))
    world.planned("held")
    world.submit("j", "apply")
    world.deliver_all()
    key = f"{world.ledger.prefix}pods"
    world.redis.hdel(key, "a") if damage is lose else world.redis.hset(key, "a", '{"form": 2}')
    world.beat("a")
    world.open("a")
    assert (world.count("used"), world.count("reserved")) == (1, 1)
    assert world.submit("more", "apply").state == "waiting"


@pytest.mark.row("HO-07")
def test_the_jobs_of_a_pod_that_is_gone_are_lost_also_where_its_record_cannot_be_read(world: SlotWorld) -> None:
    world.add("a", layout=("*",))
    world.submit("j", "apply")
    world.deliver_all()
    world.redis.hset(f"{world.ledger.prefix}pods", "a", '{"form": 2}')
    world.kill("a")
    assert world.state("j") == "waiting"


def test_an_outcome_of_a_job_without_a_record_is_not_acknowledged(world: SlotWorld) -> None:
    """Rule keep: its report restores the record, and with it the outcome."""
    world.add("a", layout=("*",))
    world.submit("j", "apply")
    world.deliver_all()
    lose(world, "j")
    ledger: SlotLedger = world.ledger
    attempt = world.only()
    world.end("a", attempt)
    assert ledger.finish("j", "apply", attempt, "succeeded").state == "unknown"
    world.beat("a")
    world.beat("a")
    assert world.record("j").outcome == "succeeded"
