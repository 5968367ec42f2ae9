"""Reading a pool's ledger for people, status and audit. Not one moment: numbers may be of different instants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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
    meta, lbs, waiting = pipe.execute()

    def text(name: bytes) -> str:
        return str(meta.get(name, b"").decode())

    names = [field[2:] for field in lbs if field.startswith(b"j:")]
    rows = (
        _load_balancer(
            name, orjson.loads(lbs[b"j:" + name]), int(lbs.get(b"c:" + name, 0)), int(lbs.get(b"u:" + name, 0))
        )
        for name in names
    )
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


def _load_balancer(name: bytes, known: dict[str, Any], capacity: int, used: int) -> PoolLoadBalancer:
    foreign = tuple(known["foreign"] or ())
    return PoolLoadBalancer(
        name.decode(), known["arn"], known["dns"], known["slot"], known["position"], capacity, foreign, used
    )


def owners(ledger: Ledger) -> Iterator[tuple[str, tuple[Entry, ...]]]:
    """(namespace/name, its entries), all of them, in pages."""
    for name, held in ledger.redis.hscan_iter(f"{ledger.prefix}owners", count=500):
        yield name.decode(), entries_of(ledger.pool, orjson.loads(held))
