"""Numbers and lengths of time as people read them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from berthmaster.spec import length
from domain.quantity import in_units, quantity


def test_a_number_has_its_noun_in_the_right_form() -> None:
    words = [quantity(0, "pod"), quantity(1, "pod"), quantity(2, "pod"), quantity(2, "job waits", "jobs wait")]
    assert words == ["0 pods", "1 pod", "2 pods", "2 jobs wait"]


@pytest.mark.parametrize("text", ["20s", "90s", "10m", "24h", "100h"])
def test_a_length_of_time_is_shown_as_specs_have_it(text: str) -> None:
    assert in_units(length(text)) == text
    assert in_units(length(text) + timedelta(microseconds=1)).endswith("s")
