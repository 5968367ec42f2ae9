"""The reasons of a claim set's steps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.claim_sets.decision import SetView, set_step
from domain.claim_sets.reasons import some, why
from domain.claim_sets.scale_in import SetMember
from tests.unit.claims.test_set_decision import old, serves, waits


def moves(member: SetMember) -> SetMember:
    return replace(member, moves=True)


@pytest.mark.row("WC-32")
@pytest.mark.parametrize(
    ("wanted", "members", "recorded", "word", "says"),
    [
        (2, (serves(0),), {}, "ScaledOut", "1 of 2 claims are there"),
        (1, (serves(0), serves(1)), {}, "ScaledIn", "2 claims for 1"),
        (1, (serves(0), serves(1)), {"db-1": "7"}, "ScaledIn", "2 claims for 1"),
        (1, (old(serves(0)), old(serves(1)), serves(2)), {}, "ScaledIn", "3 claims for 1"),
        (1, (old(serves(0)),), {}, "Surge", "db-0 old: one more claim than wanted"),
        (1, (old(serves(0)), serves(1)), {}, "Replaced", "it is old, and the others have a ready pod"),
        (1, (old(waits(0)), waits(1)), {}, "Replaced", "it is old, and it has no pod"),
        (2, (moves(old(serves(0))), waits(1), waits(2)), {}, "SurgeRemoved", "db-1, db-2 wait, and one"),
        (2, (serves(0), serves(1)), {"db-1": "7"}, "Spared", "2 claims for 2"),
        (1, (moves(serves(0)), moves(serves(1))), {}, "Waiting", "2 move and are not removed meanwhile"),
        (1, (old(serves(0)), waits(1)), {}, "Waiting", "waits for a ready pod of db-1"),
        (1, (serves(0),), {}, "Complete", "1 claims, each with a ready pod"),
        (0, (), {}, "Complete", "no claims are wanted"),
    ],
)
def test_each_step_says_why(
    wanted: int, members: tuple[SetMember, ...], recorded: dict[str, str], word: str, says: str
) -> None:
    observed = SetView("db", wanted, members, recorded)
    reason = why(observed, set_step(observed))
    assert (reason.word, says in reason.message) == (word, True), reason


def test_many_names_are_counted() -> None:
    assert some([f"db-{n}" for n in range(12)]) == "db-0, db-1, db-2, db-3, db-4 and 7 more"
