"""An index of a pool's claimable pods, and the facts about them that claims need. Each run of the pool repairs it.

A script that takes a pod out of `open` also takes it out of the index. A claim writes the pod in the version that the
index has, or reads it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, cast

import orjson
from pydantic import TypeAdapter

from berthmaster.errors import StaleToken
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.unreadable import name, readable, typed, uid
from domain.claims.labels import moment
from domain.claims.pod import Phase, PoolPod
from domain.claims.pod_request import PodTraits

TRAITS: Final = TypeAdapter(PodTraits)
NOTES: Final = TypeAdapter(dict[str, str])


@dataclass(frozen=True)
class IndexEntry:
    """A pod in the index. `at`: its creation, in s; `owner`: its last one, '' for none; `facts` as Redis has them."""

    uid: str
    at: int
    owner: str
    facts: bytes

    @classmethod
    def of(cls, pod: PoolPod) -> IndexEntry:
        """Return the entry of a pod that is claimable."""
        return cls(pod.uid, int(pod.created.timestamp()), pod.last_owner or "", _facts(pod))


def page(ledger: SlotLedger, owner: str | None, start: int, count: int) -> tuple[PoolPod, ...]:
    """Return up to `count` pods that `owner` had last, then up to `count` of all from `start` on, the oldest first.

    Raises NotVerified, UnreadableLedger.
    """
    _, of_owner, oldest = ledger.call("page", owner or "", start, count)
    pods = (_pod(ledger, facts) for facts in (*(of_owner if start == 0 else ()), *oldest))
    return tuple({pod.uid: pod for pod in pods}.values())


@dataclass(frozen=True)
class PoolFacts:
    """What claims read of a pool. `revision`: of new pods, None before the pool's first run.

    `protects`: the pool protects the pods of claims from evictions.
    """

    revision: str | None
    protects: bool = False


@readable()
def pool_facts(ledger: SlotLedger) -> PoolFacts:
    """Return what the pool's last run has recorded."""
    revision, protects = cast("list[bytes | None]", ledger.redis.hmget(f"{ledger.prefix}meta", "revision", "protects"))
    return PoolFacts(revision.decode() if revision else None, protects == b"1")


def present_revision(ledger: SlotLedger) -> str | None:
    """Return the revision of new pods, None before the pool's first run."""
    return pool_facts(ledger).revision


@readable()
def keep_claimable(
    ledger: SlotLedger, token: str, revision: str, entries: Collection[IndexEntry], *, protects: bool = False
) -> str:
    """Make the index exactly these entries, but for those that got jobs or were closed meanwhile.

    Returns the revision of which claims were last notified. Raises StaleToken when a newer run has the pool.
    """
    stored: Any = ledger.redis.hgetall(f"{ledger.prefix}claimable-facts")
    wanted = {entry.uid.encode(): entry for entry in entries}
    changed = [entry for uid, entry in wanted.items() if stored.get(uid) != entry.facts]
    dropped = [uid.decode() for uid in stored if uid not in wanted]
    return _change(ledger, token, PoolFacts(revision, protects), changed, dropped)


def add_claimable(
    ledger: SlotLedger, token: str, revision: str, entries: Collection[IndexEntry], *, protects: bool = False
) -> None:
    """Add pods to the index, but for those that got jobs or were closed meanwhile. Raises StaleToken."""
    _change(ledger, token, PoolFacts(revision, protects), entries, ())


def _change(
    ledger: SlotLedger, token: str, facts: PoolFacts, entries: Collection[IndexEntry], dropped: Collection[str]
) -> str:
    changed = {entry.uid: {"at": entry.at, "owner": entry.owner, "facts": entry.facts.decode()} for entry in entries}
    about = token, facts.revision or "", "1" if facts.protects else ""
    reply = ledger.call("keep_claimable", *about, orjson.dumps(changed), orjson.dumps(list(dropped)))
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
    ledger.redis.hdel(f"{ledger.prefix}meta", "revision", "protects")


def _facts(pod: PoolPod) -> bytes:
    """Encode a pod: its traits, but for the pool, whose index this is, and what a claim needs besides."""
    traits = TRAITS.dump_python(pod.traits.bounded())
    del traits["pool"]
    facts = {
        "uid": pod.uid,
        "name": pod.name,
        "revision": pod.revision or "",
        "created": pod.created.isoformat(),
        "lastOwner": pod.last_owner or "",
        "version": pod.version or "",
        "protection": dict(pod.protection),
    }
    ports = {"lacksPorts": True} if pod.lacks_ports else {}
    return orjson.dumps(traits | facts | ports, option=orjson.OPT_SORT_KEYS)


@readable()
def _pod(ledger: SlotLedger, facts: bytes) -> PoolPod:
    """Decode a pod. Its name is checked: it becomes part of a path. Unknown fields, of a newer version, are ignored."""
    entry = typed(orjson.loads(facts), dict)
    protection = entry.get("protection")  # which an older version does not write: then a claim must read the pod
    return PoolPod(
        name=name(entry["name"]),
        uid=uid(entry["uid"]),
        traits=TRAITS.validate_python(entry | {"pool": ledger.pool.rpartition("/")[2]}),
        revision=typed(entry["revision"], str) or None,
        phase=Phase.IDLE,
        created=moment_of(entry["created"]),
        last_owner=typed(entry["lastOwner"], str) or None,
        version=(typed(entry.get("version", ""), str) or None) if isinstance(protection, dict) else None,
        protection=NOTES.validate_python(protection or {}),
        lacks_ports=entry.get("lacksPorts") is True,  # an older version writes none
    )


def moment_of(text: str) -> datetime:
    """Parse a time. Raises ValueError, also for a time without a zone, which cannot be compared with ours."""
    created = moment(text)
    if created is None:
        raise ValueError(f"{text[:40]!r} is no time")
    return created
