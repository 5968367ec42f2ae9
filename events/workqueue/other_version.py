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

from berthmaster.redis.incarnation import STATE_VERSION, doubt, incarnation
from domain.port_pools.providers import PROVIDERS

log = structlog.get_logger(__name__)
FIELD: Final = "version"
"""Field of the queue's `meta`: the version of the state in this Redis."""
DISCARDING: Final = "discarding"
"""Stands there while old state is deleted."""
TAGS: Final = ("{pp:", "{sp:", "{claims:", "{poolpods", *(f"{{{provider.name}:" for provider in PROVIDERS))
"""The first characters of the hash tags of port pools, pod pools, claim indexes, changes of pods and call budgets."""


def discard_other_version(redis: Redis, queue: Mapping[str, str], epoch: str, under: str) -> bool:
    """Delete the state of another version, once `epoch` is assumed under incarnation `under`.

    False: another epoch was assumed since, or another Redis answers. Every step compares the epoch: a publisher that
    was stalled must not delete what its successor has built. `queue` has the workqueue's keys by name. Its `meta`
    stays: every version can read its epoch, fleet and counters. No version is its own while it is being discarded, so
    the next publisher of any version begins again after one that died in the middle.
    """
    meta = queue["meta"]
    version: Any = redis.hget(meta, FIELD)
    if version == STATE_VERSION.encode():
        return True
    log.warning("state_of_other_version_discarded", other=(version or b"").decode(), version=STATE_VERSION)

    def step(keys: Sequence[str] | Sequence[bytes], version: str) -> bool:
        def write(pipe: Pipeline) -> bool:
            current: Any = pipe.hget(meta, "epoch")
            pipe.multi()
            if current != epoch.encode():
                return False
            if keys:
                pipe.unlink(*keys)  # one command: nobody reads half a ledger
            pipe.hset(meta, FIELD, version)
            return True

        transaction: Any = redis.transaction  # redis-py says None
        return bool(transaction(write, meta, value_from_callable=True))

    if not step((), DISCARDING) or not all(step(keys, DISCARDING) for keys in ledgers(redis)):
        return False
    doubt(redis)  # a new master may have again what was deleted on the one before
    others = [key for key in redis.scan_iter(f"{meta.partition('}')[0]}}}*", 1000) if key != meta.encode()]
    return incarnation(redis) == under and step(others, STATE_VERSION)


def ledgers(redis: Redis) -> Iterable[Sequence[bytes]]:
    """Return the keys of each ledger, index and budget."""
    keys = defaultdict(list)
    for begin in TAGS:
        for key in redis.scan_iter(match=f"{begin}*", count=1000):
            keys[key.partition(b"}")[0]].append(key)
    return list(keys.values())
