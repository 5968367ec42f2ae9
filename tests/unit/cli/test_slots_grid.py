"""The grid of slots in `berthmaster status`."""

from __future__ import annotations

from io import StringIO
from typing import Any

from rich.console import Console

from workers.cli.slots_grid import show


def shown(*slots: dict[str, Any]) -> str:
    pod = {"pod": "p1", "view": "open", "slots": list(slots)}
    numbers = {"pods": {"open": 1}, "desired": 1, "waiting": 0, "reason": "why", "problem": ""}
    out = Console(file=StringIO(), width=100)
    show(out, [{"name": "ci/runners", "slots": [pod], **numbers}])
    assert isinstance(out.file, StringIO)
    return out.file.getvalue()


def test_a_pool_without_slots_has_no_line_in_the_grid() -> None:
    assert shown().count("ci/runners") == 1
    assert "slots: " not in shown()
    assert shown({"state": "idle", "job": "", "accepts": []}).count("ci/runners") == 2
