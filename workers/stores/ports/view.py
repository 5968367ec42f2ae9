"""Reads a pool's ledger for people, status and audit. The numbers may be of different instants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import orjson

from domain.ports.entry import Entry
from workers.stores.ports.codec import entries_of
from workers.stores.ports.ledger import Ledger
from workers.stores.ports.pool_ledger import PoolLoadBalancer


@dataclass(frozen=True)
class LedgerView:
    """The ledger of a pool. `free` and `demand` are ports; `waiting` is owners.

    `filling` names load balancers that lack listeners.
    """

    epoch: str
    state: str
    free: int
    demand: int
    waiting: int
    intent: str
    load_balancers: tuple[PoolLoadBalancer, ...]
    filling: frozenset[str] = frozenset()

    @property
    def allocated(self) -> int:
        """How many ports of all load balancers are in use."""
        return sum(lb.used for lb in self.load_balancers)

    @property
    def capacity(self) -> int:
        """How many ports all load balancers can give."""
        return sum(lb.capacity for lb in self.load_balancers)


def view(ledger: Ledger) -> LedgerView:
    """Read the view in one round trip."""
    pipe, p = ledger.redis.pipeline(transaction=True), ledger.prefix
    pipe.hgetall(f"{p}meta")
    pipe.hgetall(f"{p}lbs")
    pipe.hlen(f"{p}demand")
    pipe.hkeys(f"{p}coming")
    pipe.time()
    meta, lbs, waiting, coming, (seconds, micros) = pipe.execute()
    now = int(seconds) * 1000 + int(micros) // 1000

    def text(name: bytes) -> str:
        return str(meta.get(name, b"").decode())

    rows = (_load_balancer(field[6:], lbs, now) for field in lbs if field.startswith(b"facts:"))
    ordered = tuple(sorted(rows, key=lambda lb: (lb.position, lb.name)))
    return LedgerView(
        text(b"epoch"),
        text(b"state"),
        int(meta.get(b"free", 0)),
        int(meta.get(b"demand", 0)),
        waiting,
        text(b"intent"),
        ordered,
        frozenset(name.decode() for name in coming),
    )


def _load_balancer(name: bytes, lbs: dict[bytes, bytes], now: int) -> PoolLoadBalancer:
    facts: dict[str, Any] = orjson.loads(lbs[b"facts:" + name])
    return PoolLoadBalancer(
        name.decode(),
        facts["arn"],
        facts["dns"],
        facts["slot"],
        facts["position"],
        capacity=int(lbs.get(b"capacity:" + name, 0)),
        foreign=tuple(facts["foreign"] or ()),
        used=int(lbs.get(b"used:" + name, 0)),
        gives=b"capacity:" + name in lbs,
        retiring=b"retiring:" + name in lbs,
        empty_for=timedelta(milliseconds=now - int(lbs.get(b"empty:" + name, now))),
    )


@dataclass(frozen=True)
class PlaceInLine:
    """A place on the waiting list: `ahead` joined before and still wait. `woken`: it fits, and a run is on its way."""

    ahead: int
    ports: int
    joined_ms: int
    woken: bool


def place_in_line(ledger: Ledger, name: str) -> PlaceInLine | None:
    """Return the name's place. None: it does not wait."""
    pipe, p = ledger.redis.pipeline(transaction=True), ledger.prefix
    pipe.hget(f"{p}demand", name)
    pipe.zrank(f"{p}waiting", name)
    demand, rank = pipe.execute()
    if not demand:
        return None
    ports, joined, *_ = demand.split(b":")
    return PlaceInLine(rank or 0, int(ports), int(joined), woken=rank is None)


def share_of(ledger: Ledger, name: str) -> tuple[int, bool]:
    """Return how many ports the namespace holds or waits for, and whether the owner is capped."""
    pipe, p = ledger.redis.pipeline(transaction=True), ledger.prefix
    pipe.hget(f"{p}spaces", name.partition("/")[0])
    pipe.hexists(f"{p}cap", name)
    used, capped = pipe.execute()
    return int(used or 0), bool(capped)


def entries_of_owner(ledger: Ledger, name: str) -> tuple[Entry, ...]:
    """Return the entries of one owner."""
    held: Any = ledger.redis.hget(f"{ledger.prefix}owners", name)
    return entries_of(ledger.pool, orjson.loads(held)) if held else ()


def known_arns(
    lbs: Iterable[PoolLoadBalancer], entries: Iterable[Entry], stock: Iterable[tuple[str, str]]
) -> frozenset[str]:
    """Return the ARNs that are ours whatever their tags say: of entries, stock and created load balancers."""
    arns = {arn for entry in entries for arn in (entry.listener, entry.target_group)}
    arns |= {arn for pair in stock for arn in pair}
    return frozenset(arns | {lb.arn for lb in lbs if lb.slot >= 0}) - {""}


def decoded(pool: str, held: bytes) -> tuple[Entry, ...]:
    """Return the stored entries of one owner."""
    return entries_of(pool, orjson.loads(held))


def owners(
    ledger: Ledger, decode: Callable[[str, bytes], tuple[Entry, ...]] = decoded
) -> Iterator[tuple[str, tuple[Entry, ...]]]:
    """Yield every (namespace/name, its entries), in pages. `decode`: one that knows what it has decoded before."""
    for name, held in ledger.redis.hscan_iter(f"{ledger.prefix}owners", count=500):
        yield name.decode(), decode(ledger.pool, held)
