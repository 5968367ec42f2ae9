"""The model of a Redis that changes its incarnation and lives on: that it holds, and which of its rules is needed."""

from __future__ import annotations

import pytest

from tests.models.living_redis import Flags, check


@pytest.mark.row("RD-21")
@pytest.mark.parametrize("anew", [True, False])
def test_a_published_port_stays_in_the_ledger_of_a_server_that_changes_and_lives_on(anew: bool) -> None:
    result = check(Flags(anew=anew))
    assert (result.broken, result.trace) == (None, [])
    assert result.states > 1000


@pytest.mark.row("RD-21")
def test_without_a_closed_ledger_a_run_of_before_publishes_what_the_rebuild_did_not_list() -> None:
    """Rule shut."""
    result = check(Flags(shut=False))
    assert result.broken == "kept"
    assert result.trace[-2:] == ["1 stamps", "the run publishes"]
