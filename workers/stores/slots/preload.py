"""Loads the scripts that runners need, because the Redis users of runners may load none.

A server loses its scripts when it restarts or somebody flushes them. Workers also store the texts, so that runners of
an older version than the workers still find their scripts then. Runners cannot write the stored texts.
"""

from __future__ import annotations

from typing import Any, Final

from redis.exceptions import ResponseError

from berthmaster.jobs.scripts import OF_RUNNERS
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.redis.outage import OUTAGE

TEXTS: Final = "berthmaster:runner-scripts"
"""A hash: digest -> text."""


def preload(ledger: SlotLedger) -> str:
    """Load the missing scripts; one question if none is missing. Returns why Redis refuses, '' if it does not."""
    scripts = [ledger.script(name) for name in OF_RUNNERS]
    redis: Any = ledger.redis
    try:
        if all(redis.script_exists(*(script.digest for script in scripts))):
            return ""
        redis.hset(TEXTS, mapping={script.digest: script.text for script in scripts})
        for text in redis.hvals(TEXTS):
            redis.script_load(text)
    except OUTAGE:
        raise
    except ResponseError as error:
        return str(error)
    return ""
