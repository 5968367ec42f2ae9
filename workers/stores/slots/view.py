"""Reading a pod pool's slots, for scaling, status and people. Not one moment: numbers may be of different instants."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import orjson

from domain.scaling.unready import Unready
from workers.stores.slots.ledger import SlotLedger


@dataclass(frozen=True)
class PodSlots:
    """`layout` and `slots` go together: what each accepts, and the job in it or ''. `silent`: since its last report."""

    uid: str
    name: str
    view: str
    token: str
    layout: tuple[str, ...]
    slots: tuple[str, ...]
    silent: timedelta

    @property
    def busy(self) -> int:
        return sum(bool(job) for job in self.slots)


@dataclass(frozen=True)
class SlotsView:
    """`waiting`: kinds of jobs (phases joined by commas) -> how many wait for a slot."""

    pods: tuple[PodSlots, ...]
    used: int
    reserved: int
    waiting: dict[str, int]
    names: frozenset[str]
    unready: Unready

    def of(self, uid: str) -> PodSlots | None:
        return next((pod for pod in self.pods if pod.uid == uid), None)


def view(ledger: SlotLedger) -> SlotsView:
    """Two round trips."""
    pipe, p = ledger.redis.pipeline(transaction=True), ledger.prefix
    pipe.hgetall(f"{p}pods")
    pipe.hmget(f"{p}meta", "used", "reserved")
    pipe.smembers(f"{p}sigs")
    pipe.smembers(f"{p}names")
    pipe.hgetall(f"{p}unready")
    pipe.time()
    pods, counts, kinds, names, unready, (seconds, micros) = pipe.execute()
    now = int(seconds) * 1000 + int(micros) // 1000
    used, reserved = (int(count or 0) for count in counts)
    return SlotsView(
        tuple(_pod(uid, orjson.loads(told), now) for uid, told in sorted(pods.items())),
        used,
        reserved,
        _waiting(ledger, sorted(kind.decode() for kind in kinds)),
        frozenset(name.decode() for name in names),
        _unready(unready, int(seconds)),
    )


def _unready(told: dict[bytes, bytes], now: int) -> Unready:
    since = timedelta(seconds=max(0, now - int(told.get(b"at", now))))
    return Unready(told.get(b"revision", b"").decode(), int(told.get(b"count", 0)), since)


def _waiting(ledger: SlotLedger, kinds: list[str]) -> dict[str, int]:
    pipe = ledger.redis.pipeline(transaction=False)
    for kind in kinds:
        pipe.zcard(f"{ledger.prefix}wait:{kind}")
    counts: list[Any] = pipe.execute()
    return {kind: int(count) for kind, count in zip(kinds, counts, strict=True) if count}


def _pod(uid: bytes, told: dict[str, Any], now: int) -> PodSlots:
    slots = tuple(slot["j"] if slot else "" for slot in told["s"])
    silent = timedelta(milliseconds=max(0, now - int(told["t"])))
    return PodSlots(uid.decode(), told["n"], told["v"], told["k"], tuple(told["l"]), slots, silent)
