"""How entries look in Redis: short keys, one JSON object an owner (`w u s l t a k`, see ledger_head.lua)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from domain.ports.entry import Entry, EntryState


def entries_of(pool: str, held: bytes) -> tuple[Entry, ...]:
    """The entries of an owner's JSON; b'' is none."""
    return tuple(sorted(_entry(pool, key, item) for key, item in orjson.loads(held or b"{}").items()))


def _entry(pool: str, key: str, item: dict[str, str]) -> Entry:
    lb, _, port = key.rpartition(":")
    get = item.get
    state = EntryState(item["s"])
    return Entry(
        pool, lb, int(port), item["w"], item["u"], state, get("l") or "", get("t") or "", get("a") or "", get("k") or ""
    )


def encode_item(entry: Entry) -> dict[str, str]:
    """What `record` may change."""
    return {"s": entry.state, "l": entry.listener, "t": entry.target_group, "a": entry.target}


def encode_owner(entries: Iterable[Entry]) -> dict[str, dict[str, str]]:
    """A whole owner, as `stamp` writes it."""
    return {e.key: encode_item(e) | {"w": e.want, "u": e.uid, "k": e.token} for e in entries}


def texts(replies: Iterable[Any]) -> tuple[str, ...]:
    return tuple(reply.decode() for reply in replies)
