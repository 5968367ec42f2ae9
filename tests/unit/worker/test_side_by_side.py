"""Calls side by side: as many at a time as were allowed, and none after a failure."""

from __future__ import annotations

from contextvars import ContextVar
from functools import partial
from threading import Barrier, Lock

import pytest

from workers.pod_pools.side_by_side import side_by_side

WIDTH = 3
OF = ContextVar("of", default="")


def test_as_many_run_at_a_time_as_are_allowed_and_results_keep_their_order() -> None:
    """Each call waits for two others."""
    together, lock, running, most = Barrier(WIDTH, timeout=60), Lock(), 0, 0

    def call(number: int) -> str:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait()
        with lock:
            running -= 1
        return f"{OF.get()} {number}"

    OF.set("caller")
    assert side_by_side(WIDTH, (partial(call, number) for number in range(9))) == [f"caller {n}" for n in range(9)]
    assert most == WIDTH


def test_after_a_failure_no_other_call_begins() -> None:
    done: list[int] = []

    def call(number: int) -> None:
        if number == 1:
            raise ValueError(number)
        done.append(number)

    with pytest.raises(ValueError, match="1"):
        side_by_side(1, (partial(call, number) for number in range(100)))
    assert done[0] == 0
    assert len(done) < 99
    assert done == [0]
