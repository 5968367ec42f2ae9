"""Small worlds to start from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from domain.ports.entry import Entry, EntryState
from domain.ports.pod import PortsState
from domain.ports.steps import Step
from tests.support.ports.pure_run import PurePool, PureWorld

ONE, TWO, VOICE = "7777/UDP@arena", "7777/UDP@arena,7778/TCP@arena", "7777/UDP@arena,9000/TCP@lobby"


def world(ports: str | None = ONE, pod: dict[str, Any] | None = None, **pools: PurePool) -> PureWorld:
    """A pod `a` that asks for `ports`, and the pools `arena` and `lobby` unless others are given."""
    made = PureWorld(pools=dict(pools) or {"arena": PurePool(), "lobby": PurePool()})
    made.pod("a", ports, **pod or {})
    return made


def bound_world(ports: str = ONE, **pools: PurePool) -> PureWorld:
    """The same with the pod bound."""
    made = world(ports, None, **pools)
    made.run()
    assert made.shown().state == PortsState.BOUND
    return made


def give(made: PureWorld, entry: Entry, name: str = "a") -> Entry:
    """Puts an entry into the ledger."""
    made.entries.setdefault(name, {})[entry.id] = entry
    return entry


def entry(port: int = 30000, **changes: Any) -> Entry:
    """Of pod `a`, for its first want."""
    start = Entry("arena", "bm-arena-0", port, "7777/UDP", "uid-a", EntryState.ALLOCATED)
    return replace(start, **changes)


def kinds(steps: list[Step]) -> list[str]:
    return [type(step).__name__ for step in steps]
