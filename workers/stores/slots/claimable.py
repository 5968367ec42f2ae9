"""An index of a pool's claimable pods, and the facts about them that claims need. Each run of the pool repairs it.

A script that takes a pod out of `open` also takes it out of the index. A claim reads the pod itself all the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, Final

import orjson

from berthmaster.errors import StaleToken
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.unreadable import name, readable, typed, uid
from domain.claims.labels import moment
from domain.claims.pod import ClaimablePod, Phase

MOST_LABELS: Final = 100
"""The most labels of a pod that the index keeps; whoever may write the pod chooses how many it has."""


def page(ledger: SlotLedger, owner: str, start: int, count: int) -> tuple[ClaimablePod, ...]:
    """Return up to `count` pods that `owner` had last, then up to `count` of all from `start` on, the oldest first.

    Raises NotVerified, UnreadableLedger.
    """
    _, of_owner, oldest = ledger.call("page", owner, start, count)
    pods = (_pod(ledger, facts) for facts in (*(of_owner if start == 0 else ()), *oldest))
    return tuple({pod.uid: pod for pod in pods}.values())


@readable()
def present_revision(ledger: SlotLedger) -> str:
    """Return the revision of new pods, '' before the pool's first run."""
    stored: Any = ledger.redis.hget(f"{ledger.prefix}meta", "revision")
    return stored.decode() if stored else ""


@readable()
def keep_claimable(ledger: SlotLedger, token: str, revision: str, pods: Collection[ClaimablePod]) -> str:
    """Make the index exactly these pods, but for those that got jobs or were closed meanwhile.

    Returns the revision of which claims were last notified. Raises StaleToken when a newer run has the pool.
    """
    stored: Any = ledger.redis.hgetall(f"{ledger.prefix}claimable-facts")
    wanted = {pod.uid.encode(): (pod, _facts(pod)) for pod in pods}
    changed = {uid.decode(): _entry(*entry) for uid, entry in wanted.items() if stored.get(uid) != entry[1]}
    dropped = [uid.decode() for uid in stored if uid not in wanted]
    reply = ledger.call("keep_claimable", token, revision, orjson.dumps(changed), orjson.dumps(dropped))
    if reply[0] == b"STALE":
        raise StaleToken(f"a newer run has pod pool {ledger.pool}")
    return str(reply[1].decode())


def tell_revision(ledger: SlotLedger, revision: str) -> None:
    """Record that claims on the pool's pods were woken since this revision is the present one."""
    ledger.redis.hset(f"{ledger.prefix}meta", "told", revision)


@readable()
def forget_claimable(ledger: SlotLedger) -> None:
    """Delete the index of a pool that is gone."""
    stored: Any = ledger.redis.hvals(f"{ledger.prefix}claimable-facts")
    owners = {orjson.loads(facts)["lastOwner"] for facts in stored} - {""}
    names = ("claimable", "claimable-facts", *(f"owned:{owner}" for owner in owners))
    ledger.redis.delete(*(f"{ledger.prefix}{name}" for name in names))
    ledger.redis.hdel(f"{ledger.prefix}meta", "revision")


def _entry(pod: ClaimablePod, facts: bytes) -> Mapping[str, Any]:
    return {"at": int(pod.created.timestamp()), "owner": pod.last_owner, "facts": facts.decode()}


def _facts(pod: ClaimablePod) -> bytes:
    facts = {
        "uid": pod.uid,
        "name": pod.name,
        "revision": pod.revision,
        "created": pod.created.isoformat(),
        "lastOwner": pod.last_owner,
        "labels": dict(islice(sorted(pod.labels.items()), MOST_LABELS)),
    }
    return orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)


@readable()
def _pod(ledger: SlotLedger, facts: bytes) -> ClaimablePod:
    """Return a pod of the index. Its name is checked: it becomes part of a path."""
    entry = orjson.loads(facts)
    labels = typed(entry["labels"], dict)
    return ClaimablePod(
        name=name(entry["name"]),
        uid=uid(entry["uid"]),
        pool=ledger.pool.rpartition("/")[2],
        revision=typed(entry["revision"], str),
        phase=Phase.IDLE,
        created=moment_of(entry["created"]),
        last_owner=typed(entry["lastOwner"], str),
        labels={typed(key, str): typed(value, str) for key, value in labels.items()},
    )


def moment_of(text: str) -> datetime:
    """Parse a time. Raises ValueError, also for a time without a zone, which cannot be compared with ours."""
    created = moment(text)
    if created is None:
        raise ValueError(f"{text[:40]!r} is no time")
    return created
