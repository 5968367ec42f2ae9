"""Reading a pool's ledger for people, status and audit. Not one moment: numbers may be of different instants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import orjson

from domain.ports.entry import Entry
from workers.stores.growth import PoolLoadBalancer
from workers.stores.ledger import Ledger
from workers.stores.ledger_codec import entries_of


@dataclass(frozen=True)
class LedgerView:
    """`free` and `demand` are ports; `waiting` is owners."""

    epoch: str
    state: str
    free: int
    demand: int
    waiting: int
    intent: str
    load_balancers: tuple[PoolLoadBalancer, ...]

    @property
    def allocated(self) -> int:
        return sum(lb.used for lb in self.load_balancers)

    @property
    def capacity(self) -> int:
        return sum(lb.capacity for lb in self.load_balancers)


def view(ledger: Ledger) -> LedgerView:
    """One round trip."""
    pipe, p = ledger.redis.pipeline(transaction=True), ledger.prefix
    pipe.hgetall(f"{p}meta")
    pipe.hgetall(f"{p}lbs")
    pipe.hlen(f"{p}demand")
    pipe.time()
    meta, lbs, waiting, (seconds, micros) = pipe.execute()
    now = int(seconds) * 1000 + int(micros) // 1000

    def text(name: bytes) -> str:
        return str(meta.get(name, b"").decode())

    rows = (_load_balancer(field[2:], lbs, now) for field in lbs if field.startswith(b"j:"))
    ordered = tuple(sorted(rows, key=lambda lb: (lb.position, lb.name)))
    return LedgerView(
        text(b"epoch"),
        text(b"state"),
        int(meta.get(b"free", 0)),
        int(meta.get(b"demand", 0)),
        waiting,
        text(b"intent"),
        ordered,
    )


def _load_balancer(name: bytes, lbs: dict[bytes, bytes], now: int) -> PoolLoadBalancer:
    known: dict[str, Any] = orjson.loads(lbs[b"j:" + name])
    return PoolLoadBalancer(
        name.decode(),
        known["arn"],
        known["dns"],
        known["slot"],
        known["position"],
        capacity=int(lbs.get(b"c:" + name, 0)),
        foreign=tuple(known["foreign"] or ()),
        used=int(lbs.get(b"u:" + name, 0)),
        gives=b"c:" + name in lbs,
        retiring=b"r:" + name in lbs,
        empty_for=timedelta(milliseconds=now - int(lbs.get(b"e:" + name, now))),
    )


def owners(ledger: Ledger) -> Iterator[tuple[str, tuple[Entry, ...]]]:
    """(namespace/name, its entries), all of them, in pages."""
    for name, held in ledger.redis.hscan_iter(f"{ledger.prefix}owners", count=500):
        yield name.decode(), entries_of(ledger.pool, orjson.loads(held))
