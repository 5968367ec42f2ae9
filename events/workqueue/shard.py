"""The keys of one shard in Redis, and what Python decides for its scripts."""

from __future__ import annotations

from typing import Any, Final

from berthmaster import routing
from berthmaster.kinds import CYCLE, KINDS, ReadyClass
from berthmaster.redis.scripts import lua

CLASSES: Final = tuple(ReadyClass)
FAST: Final = tuple(ready_class for ready_class in CLASSES if ready_class is not ReadyClass.SLOW)
NAMES: Final = (
    *("snap", "dirty", "hold", "timer", "meta", "tries", "pools", "sent", "traces"),
    *(f"ready:{ready_class}" for ready_class in CLASSES),
)
"""The keys of a shard, in the order of lib/keys.lua. The key of a drain's last reply and that of the hints follow."""
AHEAD: Final = 2
"""Hints that are sent ahead of the drains: each drain that begins sends the next, so that more gain nothing."""


def tables(ahead: int) -> dict[str, str]:
    """Return Name -> Lua: what the scripts do not decide."""
    number = {ready_class: place for place, ready_class in enumerate(CLASSES, 1)}
    values: dict[str, Any] = {
        "class_of": {kind.prefix: number[kind.ready_class] for kind in KINDS},
        "cycle": [number[ready_class] for ready_class in CYCLE],
        "limits": {"ahead": ahead},
        "hint": routing.hint_parts(),
    }
    return {name: lua(value) for name, value in values.items()}
