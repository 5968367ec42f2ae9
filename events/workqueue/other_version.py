"""Discard the state of another version of Berthmaster in Redis, before the publisher opens the queue.

The stamp names the version of the state (see berthmaster.redis.incarnation), so no worker uses the old state meanwhile.
The old state must still go: a publisher's list skips a snapshot whose object has not changed, and a ledger's rebuild
keeps a job that has no runner.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import structlog
from redis import Redis
from redis.client import Pipeline

from berthmaster.redis.incarnation import STATE_VERSION

log = structlog.get_logger(__name__)
FIELD: Final = "version"
"""Field of the queue's `meta`: the version of the state in this Redis."""
TAGS: Final = ("{pp:", "{sp:", "{claims:", "{aws:")
"""The first characters of the hash tags of port pools, pod pools, claim indexes and call budgets."""


def version_of(redis: Redis, meta: str) -> str | None:
    """Return the version of the state, None before the first epoch, which gets ours. Ask before an epoch is assumed."""
    stored: Any = redis.hmget(meta, "epoch", FIELD)
    epoch, version = stored
    return None if epoch is None else (version or b"").decode()


def discard_other_version(redis: Redis, queue: Mapping[str, str], epoch: str, version: str | None) -> bool:
    """Delete the state of another version, once `epoch` is assumed. False: another epoch was assumed since.

    `queue` has the workqueue's keys by name. Its `meta` stays: every version can read its epoch, fleet and counters.
    A publisher that dies in the middle leaves the version field unchanged, and the next publisher begins again.
    """
    meta, others = queue["meta"], [key for name, key in queue.items() if name != "meta"]
    if version in (None, STATE_VERSION):
        return True
    log.warning("state_of_other_version_discarded", other=version, version=STATE_VERSION)
    for tagged in ledgers(redis):
        redis.unlink(*tagged)  # one command: nobody reads half a ledger

    def empty(pipe: Pipeline) -> Any:  # bool; redis-py says None
        current: Any = pipe.hget(meta, "epoch")
        pipe.multi()
        if current != epoch.encode():
            return False
        pipe.unlink(*others)
        pipe.hset(meta, FIELD, STATE_VERSION)
        return True

    return bool(redis.transaction(empty, meta, value_from_callable=True))


def ledgers(redis: Redis) -> Iterable[Sequence[bytes]]:
    """Return the keys of each ledger, index and budget."""
    keys = defaultdict(list)
    for begin in TAGS:
        for key in redis.scan_iter(match=f"{begin}*", count=1000):
            keys[key.partition(b"}")[0]].append(key)
    return keys.values()
