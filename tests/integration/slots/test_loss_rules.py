"""The rules after Redis is lost: the shortest history that breaks each, forced on the real scripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from berthmaster.jobs.runner_ledger import NotVerified
from tests.support.jobs.slot_world import DAY, SlotWorld

Lose = Callable[[SlotWorld], object]


class Copy:
    """What Redis holds now, to be found again later by another server: an old copy."""

    def __init__(self, world: SlotWorld) -> None:
        self._redis = world.redis
        keys: Any = world.redis.keys("*")
        self._kept: dict[bytes, Any] = {key: world.redis.dump(key) for key in keys}

    def takes_over(self, world: SlotWorld) -> None:
        """Other stamps than those of the server that answers now: it is a new one."""
        world.redis.flushall()
        for key, value in self._kept.items():
            self._redis.restore(key, 0, value)
        world.redis.hset(f"{world.ledger.prefix}meta", mapping={"inc": "old server", "seen": "old server"})
        world.begin()


@pytest.mark.row("SL-13", "SD-18")
def test_a_pod_that_an_old_copy_has_as_idle_is_not_fenced_before_its_runner_reports(world: SlotWorld) -> None:
    """Rule report: the copy does not know of the job that came since."""
    world.add("a", layout=("*",))
    copy = Copy(world)
    world.submit("j")
    world.deliver_all()
    copy.takes_over(world)
    with pytest.raises(NotVerified):
        world.ledger.fence("a", "t", 0)
    world.beat("a")
    world.beat("a")
    world.open("a")
    assert world.ledger.fence("a", "t", 0) == "BUSY"
    assert world.state("j") == "running"


@pytest.mark.row("SL-13")
def test_a_report_that_was_made_before_the_loss_says_nothing_after_it(world: SlotWorld) -> None:
    """Rule fresh: the job started between the two, and its pod would open as an idle one."""
    runner = world.add("a", layout=("*",))
    world.submit("j")
    late = runner.report()
    world.deliver_all()
    world.redis.flushall()
    world.begin()
    assert not world.ledger.report(late).accepted
    assert world.ledger.open("a") is None
    with pytest.raises(NotVerified):
        world.ledger.fence("a", "t", 0)
    world.beat("a")
    world.beat("a")
    world.open("a")
    assert world.state("j") == "running"


@pytest.mark.row("SL-13", "SL-11")
def test_a_job_that_runs_where_nobody_has_reported_is_not_placed_elsewhere(world: SlotWorld) -> None:
    """Rule gate: the pod that reports first is idle, the job is on the other."""
    world.add("a", layout=("*",))
    world.submit("j")
    world.deliver_all()
    world.add("b", layout=("*",))
    world.redis.flushall()
    world.begin()
    world.submit("j")
    world.beat("b")
    world.beat("b")
    world.open("b")
    world.deliver_all()
    assert [bool(world.runners[uid].running) for uid in "ab"] == [True, False]
    world.beat("a")
    world.beat("a")
    world.open("a")
    assert (world.state("j"), world.record("j").uid) == ("running", "a")


def enlist(world: SlotWorld) -> None:
    world.ledger.resize("1-a", None, 0, 9, 1)
    world.ledger.enlist("1-a", ["pod"])


QUESTIONS: dict[str, Lose] = {
    "start": lambda world: world.ledger.start("j", "plan", "1-1", "a"),
    "confirm": lambda world: world.ledger.confirm("j", "1-1"),
    "cancel": lambda world: world.ledger.cancel("j"),
    "finish": lambda world: world.ledger.finish("j", "plan", "1-1", "failed"),
    "undo": lambda world: world.ledger.undo("j", "1-1", DAY),
    "fence": lambda world: world.ledger.fence("a", "t", 0),
    "claim": lambda world: world.ledger.claim("a", "t"),
    "take over": lambda world: world.ledger.take_over("a", "t", "u"),
    "resize": lambda world: world.ledger.resize("1-a", None, 0, 9, 1),
    "enlist": enlist,
    "sweep": lambda world: world.ledger.sweep(DAY),
}


@pytest.mark.row("SL-13", "SD-20")
@pytest.mark.parametrize("what", QUESTIONS)
def test_nothing_is_granted_or_closed_before_every_pod_has_reported(world: SlotWorld, what: str) -> None:
    """Rule gate."""
    world.add("a")
    world.redis.flushall()
    with pytest.raises(NotVerified):
        QUESTIONS[what](world)
    world.begin()
    with pytest.raises(NotVerified):
        QUESTIONS[what](world)
    world.beat("a")
    world.beat("a")
    QUESTIONS[what](world)


@pytest.mark.row("SL-13", "SL-14", "SD-02")
def test_a_reservation_outlives_redis_in_its_runner(world: SlotWorld) -> None:
    """Rule held: its pod would be idle, and be deleted."""
    world.add("a", layout=("*",))
    plan = world.planned("j", serial_key="w", hold_ms=60_000)
    world.beat("a")
    world.redis.flushall()
    world.begin()
    world.beat("a")
    world.beat("a")
    world.open("a")
    assert world.ledger.fence("a", "t", 0) == "BUSY"
    assert world.confirm("j", plan)
    world.deliver_all()
    assert (world.record("j").phase, world.state("j"), world.record("j").serial_key) == ("apply", "running", "w")


@pytest.mark.row("SL-13", "SL-11")
def test_an_end_that_was_known_before_the_loss_is_known_after_it(world: SlotWorld) -> None:
    """Rule outs: the client had not seen it, and submits again."""
    world.add("a", layout=("*",))
    world.submit("j")
    world.deliver_all()
    world.ended("a", world.only())
    world.redis.flushall()
    world.begin()
    world.submit("j")
    world.beat("a")
    world.beat("a")
    world.open("a")
    world.deliver_all()
    assert (world.record("j").outcome, world.effects["j plan"], world.wire) == ("succeeded", 1, [])


@pytest.mark.row("SL-13", "SL-11", "SL-16")
@pytest.mark.parametrize("copied", [False, True], ids=["flushed", "an old copy"])
def test_no_attempt_has_the_name_of_one_from_before_the_loss(world: SlotWorld, copied: bool) -> None:
    """Rule token: counters come back, so that the message, the end or the plan of before would be taken for the new."""
    world.add("a", layout=("*",))
    copy = Copy(world)
    world.submit("j", "plan", "apply")
    (late,) = world.wire
    world.wire.clear()
    if copied:
        copy.takes_over(world)
    else:
        world.redis.flushall()
        world.begin()
    world.submit("j", "plan", "apply")
    world.beat("a")
    world.beat("a")
    world.open("a")
    assert [message.attempt == late.attempt for message in world.wire] == [False]
    assert not world.deliver(late)
    world.deliver_all()
    assert not world.ledger.finish("j", "plan", late.attempt, "failed").taken
    world.ended("a", world.only())
    assert not world.confirm("j", late.attempt)
    assert world.state("j") == "reserved"


@pytest.mark.row("SL-13", "SL-11")
def test_a_job_whose_end_was_seen_is_not_run_again_because_an_old_copy_has_it_running(world: SlotWorld) -> None:
    """Rule wish: its pod is gone, and nobody asks for it any more."""
    world.add("a", layout=("*",))
    world.submit("j")
    world.deliver_all()
    copy = Copy(world)
    world.ended("a", world.only())
    assert world.record("j").outcome == "succeeded"
    world.add("b", layout=("*",))
    del world.runners["a"]
    copy.takes_over(world)
    world.beat("b")
    world.beat("b")
    world.open("b")
    world.sweep()
    world.deliver_all()
    assert (world.state("j"), world.wire, world.runners["b"].running) == ("unknown", [], {})


@pytest.mark.row("SL-13")
@pytest.mark.parametrize("state", ["waiting", "placed", "running", "reserved"])
def test_a_job_that_is_lost_with_redis_and_its_pod_is_run_once_its_client_asks(world: SlotWorld, state: str) -> None:
    """Rule resubmit: whatever had become of it."""
    if state != "waiting":
        world.add("a", layout=("*",))
    world.submit("j", "plan", "apply")
    if state == "reserved":
        world.deliver_all()
        world.ended("a", world.only())
    elif state == "running":
        world.deliver_all()
    assert world.state("j") == state
    world.runners.clear()
    world.wire.clear()
    world.redis.flushall()
    world.begin()
    world.add("b", layout=("*",))
    world.submit("j", "plan", "apply")
    world.deliver_all()
    assert (world.state("j"), world.record("j").phase, world.record("j").uid) == ("running", "plan", "b")


@pytest.mark.row("SL-13", "SL-11")
def test_pods_that_were_listed_before_the_loss_are_not_the_ones_that_must_report_after_it(world: SlotWorld) -> None:
    """Rule gate: a run that stood still between its list and the verification knows no newer pod."""
    world.add("a", layout=("*",))
    mark, listed = world.ledger.verification(), list(world.runners)
    world.submit("other")
    world.add("b", layout=("*",))
    world.submit("j")
    world.deliver_all()
    world.redis.flushall()
    with pytest.raises(NotVerified):
        world.ledger.begin(listed, mark)
    world.begin()
    world.submit("j")
    world.beat("a")
    world.beat("a")
    assert world.state("j") == "waiting"
