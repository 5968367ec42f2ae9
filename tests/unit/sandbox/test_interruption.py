"""A signal ends the sandbox at the next look."""

from __future__ import annotations

import signal
import time

import pytest

from compose.sandbox.interruption import Interrupted, Interruption


def test_nothing_happens_until_somebody_looks() -> None:
    interruption = Interruption()
    interruption.note(signal.SIGTERM, None)
    with pytest.raises(Interrupted, match="SIGTERM") as raised:
        interruption.check()
    assert raised.value.status == 143


def test_the_first_signal_counts() -> None:
    interruption = Interruption()
    interruption.note(signal.SIGINT, None)
    interruption.note(signal.SIGTERM, None)
    with pytest.raises(Interrupted, match="SIGINT"):
        interruption.sleep(0)


def test_a_sleep_ends_soon_after_a_signal() -> None:
    interruption, began = Interruption(), time.monotonic()
    interruption.note(signal.SIGINT, None)
    with pytest.raises(Interrupted):
        interruption.sleep(60)
    assert time.monotonic() - began < 60
