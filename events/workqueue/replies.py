"""What the scripts reply: a key under a lease, or why there is none."""

from __future__ import annotations

from typing import Any

import orjson
import structlog

from events.workqueue.entries import LeasedKey, Refusal, snapshot

log = structlog.get_logger(__name__)


def leased(reply: Any) -> LeasedKey | Refusal:
    """Return the key of a script's reply, or why there is none. A snapshot that cannot be read is an unknown one."""
    if not isinstance(reply, list):
        return Refusal(reply.decode())
    key, token, generation, stored, tries, pools, trace = reply
    try:
        object_state = snapshot(stored)
    except ValueError as error:
        log.error("snapshot_unreadable", key=key.decode(errors="replace"), error=str(error))
        object_state = None
    return LeasedKey(
        key.decode(errors="replace"),
        token.decode(),
        int(generation),
        object_state,
        int(tries or 0),
        tuple(orjson.loads(pools or b"[]")),
        trace.decode() if trace else None,
    )
