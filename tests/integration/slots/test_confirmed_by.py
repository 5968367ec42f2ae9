"""A job keeps the name of who has confirmed its plan."""

from __future__ import annotations

import pytest

from tests.support.jobs.slot_world import SlotWorld
from workers.cli.job_words import explain_job, lines

pytestmark = pytest.mark.row("UI-06")


def test_a_job_says_who_has_confirmed_it(world: SlotWorld) -> None:
    world.add("a")
    plan = world.planned("j")
    assert world.record("j").confirmed_by == ""
    assert world.confirm("j", plan, "anna")
    assert world.confirm("j", plan, "bert"), "said again, it is confirmed already"
    assert world.record("j").confirmed_by == "anna"
    explanation = explain_job(world.ledger, "j")
    assert explanation
    assert "  confirmed by anna" in list(lines(explanation))
    world.deliver_all()
    world.ended("a", world.only())
    assert world.record("j").confirmed_by == "anna"


def test_the_next_plan_is_confirmed_by_nobody_yet(world: SlotWorld) -> None:
    world.add("a")
    world.submit("j", "plan", "try", "apply")
    world.deliver_all()
    assert world.confirm("j", world.ended("a", world.only()), "anna")
    world.deliver_all()
    world.ended("a", world.only())
    assert (world.state("j"), world.record("j").confirmed_by) == ("reserved", "")


def test_nobody_needs_a_name(world: SlotWorld) -> None:
    world.add("a")
    assert world.confirm("j", world.planned("j"))
    assert world.record("j").confirmed_by == ""
