"""Calls side by side, few at first."""

from __future__ import annotations

from contextvars import ContextVar
from threading import Barrier

from workers.pod_pools.slow_start import WIDEST, slowly

NAMES = [f"pod-{n}" for n in range(20)]
KEY: ContextVar[str] = ContextVar("key")


def test_every_name_is_called_once_and_each_batch_is_announced() -> None:
    told: list[str] = []

    def call(name: str) -> str:
        told.append(name)
        return ""

    assert slowly(lambda: told.append("batch"), call, NAMES) == ""
    assert sorted(name for name in told if name != "batch") == sorted(NAMES)
    assert told.count("batch") == 1 + 1 + 1 + 2  # 1, 2, 4, and 13 in eights
    assert told[:2] == ["batch", "pod-0"]


def test_where_the_first_is_refused_no_other_is_called() -> None:
    called: list[str] = []

    def call(name: str) -> str:
        called.append(name)
        return f"{name} is refused"

    assert slowly(lambda: None, call, NAMES) == "pod-0 is refused"
    assert called == ["pod-0"]


def test_a_batch_is_called_side_by_side() -> None:
    barrier = Barrier(WIDEST)

    def call(name: str) -> str:
        if NAMES.index(name) in range(7, 7 + WIDEST):
            barrier.wait(timeout=20)
        return ""

    assert slowly(lambda: None, call, NAMES[: 7 + WIDEST]) == ""
    assert not barrier.broken


def test_each_call_knows_the_context_of_who_asked_for_it() -> None:
    known: list[str] = []

    def call(_: str) -> str:
        known.append(KEY.get("nothing"))
        return ""

    KEY.set("the pool")
    assert slowly(lambda: None, call, NAMES) == ""
    assert known == ["the pool"] * len(NAMES)
