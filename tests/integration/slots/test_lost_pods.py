"""Records of pods that are lost or cannot be read, and serial keys that somebody deleted: jobs end, and run once."""

from __future__ import annotations

import pytest

from tests.support.jobs.damage import Break, holder_and_next, lose_pod, spoil_pod
from tests.support.jobs.slot_world import DAY, SlotWorld
from workers.stores.slots.view import jobs_beside, view

BREAKS = pytest.mark.parametrize("damage", [lose_pod, spoil_pod])


@pytest.mark.row("HO-07", "SL-22")
@BREAKS
@pytest.mark.parametrize("cancelled", [False, True])
def test_what_its_runner_does_not_run_any_more_ends_also_where_the_record_of_the_pod_was_lost(
    world: SlotWorld, damage: Break, cancelled: bool
) -> None:
    """Rule reslot: it would run for ever, and keep its serial key."""
    holder_and_next(world)
    world.deliver_all()
    world.beat("a")
    if cancelled:
        world.cancel("one")
    world.runners["a"].running.clear()
    damage(world, "a")
    world.beat("a")
    world.beat("a")
    world.open("a")
    assert world.state("one") == ("done" if cancelled else "placed")
    assert world.state("two") == ("placed" if cancelled else "waiting")


@pytest.mark.row("HO-07", "SL-22")
def test_a_start_that_a_report_is_too_old_for_outlives_the_loss_of_the_record_of_its_pod(world: SlotWorld) -> None:
    """Rule regrant: the report was made, then the start was granted, then the record was lost."""
    world.add("a", layout=("*",))
    world.submit("j", "apply")
    old = world.runners["a"].report()
    world.deliver_all()
    lose_pod(world, "a")
    world.runners["a"].hear(world.ledger.report(old))
    assert world.state("j") == "running"
    world.beat("a")
    world.open("a")
    assert world.state("j") == "running"


@pytest.mark.row("HO-07")
def test_a_placed_job_keeps_its_slot_where_the_record_of_its_pod_was_lost(world: SlotWorld) -> None:
    """Rule reslot: else a second job gets the slot, and the first waits for its message to count as lost."""
    world.add("a", layout=("*",))
    world.submit("j", "apply")
    lose_pod(world, "a")
    world.beat("a")
    world.open("a")
    assert world.submit("more", "apply").state == "waiting"
    world.deliver_all()
    assert world.state("j") == "running"


@pytest.mark.row("HO-07", "SL-22")
@BREAKS
def test_the_jobs_of_a_pod_that_is_gone_are_found_without_its_record(world: SlotWorld, damage: Break) -> None:
    """Rule onpods."""
    world.add("a", layout=("*",))
    world.submit("j", "apply", serial_key="w")
    world.deliver_all()
    damage(world, "a")
    if damage is lose_pod:
        (found,) = view(world.ledger).unrecorded
        assert (found.uid, found.name, found.slots) == ("a", "pod-a", ("j",))
    world.kill("a")
    assert world.state("j") == "waiting"
    assert not view(world.ledger).unrecorded


@pytest.mark.row("HO-07")
@pytest.mark.parametrize("by_report", [False, True])
def test_a_plan_that_succeeds_while_the_record_of_its_pod_is_lost_goes_on_to_its_apply(
    world: SlotWorld, by_report: bool
) -> None:
    """Rule goeson: it ended as succeeded, and nothing was applied."""
    world.add("a", layout=("*",))
    world.submit("j", "plan", "apply", serial_key="w")
    world.deliver_all()
    plan = world.only()
    lose_pod(world, "a")
    world.end("a", plan)
    if not by_report:
        world.tell("a", plan)
        assert world.state("j") == "reserved"
    world.beat("a")
    world.open("a")
    assert world.state("j") == "reserved"
    assert world.confirm("j", plan)
    world.deliver_all()
    world.ended("a", world.only())
    assert (world.record("j").outcome, world.effects["j apply"]) == ("succeeded", 1)


@pytest.mark.row("HO-07")
def test_a_plan_that_is_confirmed_while_the_record_of_its_pod_is_lost_runs_again(world: SlotWorld) -> None:
    """Rule rerun: it was lost."""
    world.add("a", layout=("*",))
    plan = world.planned("j")
    lose_pod(world, "a")
    assert world.confirm("j", plan)
    assert world.state("j") == "waiting"
    world.beat("a")
    world.open("a")
    assert world.state("j") == "reserved"
    assert world.confirm("j", plan)
    assert world.state("j") == "placed"


def take_key_away(world: SlotWorld) -> None:
    world.redis.hdel(f"{world.ledger.prefix}keyed", "w")


def holder(world: SlotWorld) -> bytes | None:
    held = world.redis.hget(f"{world.ledger.prefix}keyed", "w")
    assert held is None or isinstance(held, bytes)
    return held


@pytest.mark.row("HO-07", "SL-24")
@pytest.mark.parametrize("cancelled", [False, True])
def test_a_report_gives_a_job_that_runs_the_serial_key_back_that_somebody_deleted(
    world: SlotWorld, cancelled: bool
) -> None:
    """Rule retaken."""
    world.add("a", layout=("*", "*"))
    world.submit("one", "apply", serial_key="w")
    world.deliver_all()
    attempt = world.only()
    if cancelled:
        world.cancel("one")
    take_key_away(world)
    world.beat("a")
    assert world.submit("two", "apply", serial_key="w").state == "waiting"
    assert holder(world) == b"one"
    world.runners["a"].running.clear()
    world.send(world.ledger.finish("one", "apply", attempt, "cancelled" if cancelled else "succeeded").placed)
    assert (world.state("two"), world.ledger.sweep(DAY).beside) == ("placed", ())


@pytest.mark.row("HO-07", "SL-24")
@pytest.mark.parametrize("first", ["one", "two"])
def test_who_runs_beside_the_holder_of_its_serial_key_is_named_and_nobody_else_gets_the_key(
    world: SlotWorld, first: str
) -> None:
    """Rule beside: somebody deleted the key, and the next job started before the first one was reported."""
    world.add("a", layout=("*", "*", "*"))
    world.submit("one", "apply", serial_key="w")
    world.deliver_all()
    take_key_away(world)
    for job in ("two", "three"):
        world.submit(job, "apply", serial_key="w")
    world.deliver_all()
    world.beat("a")
    assert (world.ledger.sweep(DAY).beside, jobs_beside(world.ledger)) == (("one",), ("one",))
    attempts = {job: attempt for attempt, (job, _, _) in world.runners["a"].running.items()}
    assert set(attempts) == {"one", "two"}
    world.ended("a", attempts[first])
    assert world.state("three") == "waiting"
    assert (world.ledger.sweep(DAY).beside, jobs_beside(world.ledger)) == ((), ())
    world.ended("a", attempts["one" if first == "two" else "two"])
    assert world.state("three") == "placed"
