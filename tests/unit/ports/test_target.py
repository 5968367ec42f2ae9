"""Targets as text: what is written is read back, for both families of addresses."""

from __future__ import annotations

import pytest

from domain.ports.target import address_of, target_text


@pytest.mark.row("BD-06")
@pytest.mark.parametrize(
    ("ip", "text"), [("10.0.0.5", "10.0.0.5:7777"), ("fd00::5", "[fd00::5]:7777"), ("::1", "[::1]:7777")]
)
def test_a_target_is_read_back_as_it_was_written(ip: str, text: str) -> None:
    assert target_text(ip, 7777) == text
    assert address_of(text) == (ip, 7777)
