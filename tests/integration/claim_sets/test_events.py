"""The Events of a claim set: one a transition, on both Kubernetes servers."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from tests.integration.claim_sets.conftest import MakeSet
from tests.support.log_lines import told


@pytest.mark.row("WC-32")
def test_each_transition_of_a_set_is_one_event(make_set: MakeSet) -> None:
    world = make_set(2)
    world.settle()
    world.run()
    created = [
        ("Complete", "2 claims, each with a ready pod"),
        ("ScaledOut", "makes db-0, db-1: 0 of 2 claims are there"),
    ]
    assert world.events() == created
    world.scale(1)
    world.settle()
    world.run()
    assert world.events() == sorted([*created, ("ScaledIn", "removes db-1: 2 claims for 1")])


@pytest.mark.row("WC-34")
def test_the_events_of_a_rollout_are_one_more_claim_then_one_less_then_complete(make_set: MakeSet) -> None:
    world = make_set(1)
    world.settle()
    before = world.events()
    world.change_template(ownerName="ann")
    world.settle()
    news = list(world.events())
    for event in before:
        news.remove(event)
    assert news == [
        ("Complete", "1 claims, each with a ready pod"),
        ("Replaced", "removes db-0: it is old, and the others have a ready pod"),
        ("Surge", "makes db-1: db-0 old: one more claim than wanted comes before the next of them goes"),
    ]


@pytest.mark.row("WC-33")
def test_who_is_late_and_removes_nobody_tells_nothing(make_set: MakeSet) -> None:
    world = make_set(2)
    world.settle()
    world.scale(1)

    def scaled_back() -> None:
        world.scale(2)
        world.settle()

    world.standing_still("DELETE", "/podclaims/", scaled_back)
    assert world.live() == {"db-0", "db-1"}
    assert "ScaledIn" not in dict(world.events())


@pytest.mark.row("EV-17")
def test_each_transition_of_a_set_is_one_line_of_the_log(make_set: MakeSet) -> None:
    world = make_set(2)
    with capture_logs() as lines:
        world.settle()
        world.scale(1)
        world.settle()
        world.run()
    said = told(lines, "claim_set_changed", namespace=world.namespace, set="db")
    assert [line["reason"] for line in said] == ["ScaledOut", "Complete", "ScaledIn"]
