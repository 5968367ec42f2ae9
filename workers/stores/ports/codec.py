"""Entries as Redis stores them: one JSON object an owner, as lua/lib/entries_of.lua describes it."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any, Final

from domain.ports.entry import Entry, EntryState

Item = dict[str, str | int]
STATES: Final = {state.value: state for state in EntryState}


def entries_of(pool: str, held: dict[str, dict[str, Any]]) -> tuple[Entry, ...]:
    """Return an owner's entries, in order. A stored list of keys stands for as many entries on consecutive ports."""
    entries: list[Entry] = []
    for key, item in held.items():
        lb, _, port = key.rpartition(":")
        wants = item["want"] if isinstance(item["want"], list) else [item["want"]]
        entries += [_entry(pool, lb, int(port) + n, want, item) for n, want in enumerate(wants)]
    return tuple(sorted(entries, key=attrgetter("lb", "port")))


def _entry(pool: str, lb: str, port: int, want: str, item: dict[str, Any]) -> Entry:
    get, uid, state = item.get, item["uid"], STATES[item["state"]]
    cloud = (get("listener") or "", get("target_group") or "", get("target") or "")
    token, tried = get("token") or "", tuple(get("tried") or ())
    return Entry(
        pool, lb, port, want, uid, state, *cloud, token, tried, int(get("retain") or 0), int(get("expires_at") or 0)
    )


def encode_item(entry: Entry) -> Item:
    """Return the fields of an entry that `record` may change."""
    item: Item = {
        "state": entry.state,
        "listener": entry.listener,
        "target_group": entry.target_group,
        "target": entry.target,
    }
    return item | ({"retain": entry.retain} if entry.retain else {})


def encode_owner(entries: Iterable[Entry]) -> dict[str, Item]:
    """Return a whole owner, as `finish_rebuild` writes it."""
    return {e.key: encode_item(e) | {"want": e.want, "uid": e.uid, "token": e.token} for e in entries}


def texts(replies: Iterable[Any]) -> tuple[str, ...]:
    """Decode each reply."""
    return tuple(reply.decode() for reply in replies)
