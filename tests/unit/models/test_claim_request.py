"""The model of a claim that services ask for and release: it stays for who has it only, and each step is needed."""

from __future__ import annotations

import pytest

from tests.models.claim_request import NAME, Flags, check


@pytest.mark.row("CL-41")
@pytest.mark.parametrize("releases", [(NAME,), ("a",), ("a", "b"), ("a", NAME)])
def test_no_claim_stays_that_was_released_whatever_overtakes_what(releases: tuple[str, ...]) -> None:
    """Rules released and callers."""
    result = check(Flags(), releases)
    assert result.broken is None, result.trace
    assert result.states > 100


@pytest.mark.row("CL-41")
@pytest.mark.parametrize("without", ["recorded_first", "read_afterwards", "read_each_time"])
def test_each_step_is_needed(without: str) -> None:
    """Rule released."""
    assert check(Flags()._replace(**{without: False})).broken == "stuck"


@pytest.mark.row("CL-41")
@pytest.mark.parametrize("without", ["added", "own"])
def test_a_call_that_fails_ends_the_claim_of_another_unless_each_has_its_id_there(without: str) -> None:
    """Rule callers."""
    assert check(Flags()._replace(**{without: False}), ("a",)).broken == "kept"
