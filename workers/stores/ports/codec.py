"""How entries look in Redis: short keys, one JSON object an owner (`w u s l t a k x r z`, see entries_head.lua)."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any, Final

from domain.ports.entry import Entry, EntryState

Item = dict[str, str | int]
STATES: Final = {state.value: state for state in EntryState}


def entries_of(pool: str, held: dict[str, dict[str, Any]]) -> tuple[Entry, ...]:
    """The entries of an owner, in order. A list of wants stands for as many entries on ports that follow each other."""
    found: list[Entry] = []
    for key, item in held.items():
        lb, _, port = key.rpartition(":")
        wants = item["w"] if isinstance(item["w"], list) else [item["w"]]
        found += [_entry(pool, lb, int(port) + n, want, item) for n, want in enumerate(wants)]
    return tuple(sorted(found, key=attrgetter("lb", "port")))


def _entry(pool: str, lb: str, port: int, want: str, item: dict[str, Any]) -> Entry:
    get, uid, state = item.get, item["u"], STATES[item["s"]]
    known = (get("l") or "", get("t") or "", get("a") or "", get("k") or "")
    return Entry(
        pool, lb, port, want, uid, state, *known, tuple(get("x") or ()), int(get("r") or 0), int(get("z") or 0)
    )


def encode_item(entry: Entry) -> Item:
    """What `record` may change."""
    item: Item = {"s": entry.state, "l": entry.listener, "t": entry.target_group, "a": entry.target}
    return item | ({"r": entry.retain} if entry.retain else {})


def encode_owner(entries: Iterable[Entry]) -> dict[str, Item]:
    """A whole owner, as `stamp` writes it."""
    return {e.key: encode_item(e) | {"w": e.want, "u": e.uid, "k": e.token} for e in entries}


def texts(replies: Iterable[Any]) -> tuple[str, ...]:
    return tuple(reply.decode() for reply in replies)
