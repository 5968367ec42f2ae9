"""The Lua scripts of the slot ledger, with the domain's decisions rendered into them as data.

Workers and runners of one version render the same text, so that runners find the scripts that workers have loaded by
digest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

from redis import Redis

from berthmaster.jobs.lifecycle import COUNTED, IN_SLOT, INDEXES, KEY_HOLDERS, LIFECYCLE, STOPPED, Event, Rows
from berthmaster.jobs.placement import ORDER, RESEND_MS, PlacementOrder
from berthmaster.jobs.transition import Transition
from berthmaster.redis.scripts import PreloadedScript, Script, lua

LUA: Final = Path(__file__).parent / "lua"
NAMES: Final = tuple(sorted(path.stem for path in LUA.glob("*.lua")))
OF_RUNNERS: Final = ("append_log", "finish", "report", "start", "undo")


def load_scripts(redis: Redis, rendered: Mapping[str, str] | None = None) -> dict[str, Script]:
    """Load the scripts, with our `tables` if no others are given. Reads files: call it once a process."""
    rendered = rendered or tables()
    return {name: Script(redis, name, LUA, tables=rendered) for name in NAMES}


def preloaded_scripts(redis: Redis) -> dict[str, Script]:
    """Return the scripts of a runner, which may load none: workers do (see workers.stores.slots.preload)."""
    rendered = tables()
    return {name: PreloadedScript(redis, name, LUA, tables=rendered) for name in OF_RUNNERS}


def tables(lifecycle: Mapping[Event, Rows] = LIFECYCLE, order: PlacementOrder = ORDER) -> dict[str, str]:
    """Return Name -> Lua: the transitions of each event, and whatever else the scripts do not decide."""
    events = {event.value: _rows(states) for event, states in lifecycle.items()}
    others: dict[str, Any] = {
        "indexes": INDEXES,
        "counted": COUNTED,
        "in_slot": IN_SLOT,
        "stopped": dict.fromkeys(STOPPED, True),
        "key_holders": dict.fromkeys(KEY_HOLDERS, True),
        "order": asdict(order),
        "resend_ms": RESEND_MS,
    }
    return {name: lua(value) for name, value in (events | others).items()}


def _rows(states: Mapping[Any, Sequence[Transition]]) -> dict[str, Any]:
    return {state: [_row(row) for row in rows] for state, rows in states.items()}


def _row(row: Transition) -> dict[str, Any]:
    """Return the fields that differ from a transition that does nothing."""
    return {f.name: value for f in fields(row) if (value := getattr(row, f.name)) != f.default}
