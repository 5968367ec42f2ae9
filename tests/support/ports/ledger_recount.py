"""Counts a pool's ledger again from its entries, and names everything in its books that says otherwise.

The only place in the tests that knows how the ledger is laid out in Redis (workers/stores/lua/lib/keys.lua).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import orjson
from redis import Redis

from workers.stores.ports.codec import entries_of


@dataclass(frozen=True)
class Books:
    """Everything that the ledger of one pool keeps, at one moment."""

    meta: dict[str, str]
    owners: dict[str, bytes]
    lbs: dict[str, bytes]
    slots: dict[str, str]
    order: dict[str, float]
    room: dict[str, float]
    waiting: dict[str, float]
    woken: dict[str, float]
    demand: dict[str, str]
    stock: dict[str, str]
    coming: dict[str, str]
    retained: dict[str, float]
    spaces: dict[str, str]
    cap: dict[str, str]
    capped: list[str]

    def number(self, field: str) -> int:
        return int(self.meta.get(field, 0))

    def names(self, field: str) -> set[str]:
        return {key.partition(":")[2] for key in self.lbs if key.startswith(f"{field}:")}

    def of(self, field: str, lb: str) -> int:
        return int(self.lbs.get(f"{field}:{lb}", 0))

    def facts(self, lb: str) -> dict[str, Any]:
        found: dict[str, Any] = orjson.loads(self.lbs[f"facts:{lb}"])
        return found

    def absent(self, lb: str) -> set[int]:
        """Ports without their precreated listener."""
        return set(orjson.loads(self.lbs.get(f"absent:{lb}", b"[]")) or ())

    def bits(self, lb: str) -> set[int]:
        stored = self.lbs.get(f"taken:{lb}", b"")
        return {byte * 8 + bit for byte in range(len(stored)) for bit in range(8) if stored[byte] >> bit & 1}


def read(redis: Redis, prefix: str) -> Books:
    pipeline = redis.pipeline(transaction=True)
    for name in ("meta", "owners", "lbs", "slots", "demand", "stock", "coming", "spaces", "cap"):
        pipeline.hgetall(prefix + name)
    for name in ("order", "room", "waiting", "woken", "retained"):
        pipeline.zrange(prefix + name, 0, -1, withscores=True)
    pipeline.zrange(prefix + "capped", 0, -1)
    meta, owners, lbs, slots, *plain, order, room, waiting, woken, retained, capped = pipeline.execute()
    scores = [{name.decode(): float(score) for name, score in rows} for rows in (order, room, waiting, woken, retained)]
    texts = [{k.decode(): v.decode() for k, v in rows.items()} for rows in (meta, slots, *plain)]
    named = [{k.decode(): v for k, v in rows.items()} for rows in (owners, lbs)]
    members = [member.decode() for member in capped]
    return Books(
        *(texts[0], named[0], named[1], texts[1], scores[0], scores[1], scores[2], scores[3]),
        *(texts[2], texts[3], texts[4], scores[4], texts[5], texts[6], members),
    )


def faults(redis: Redis, prefix: str) -> list[str]:
    """One line each; [] when all adds up."""
    books = read(redis, prefix)
    return [
        fault for check in (_ports, _counts, _indexes, _list, _shares, _stock, _idle, _times) for fault in check(books)
    ]


def _held(books: Books) -> list[tuple[str, str, int]]:
    """(owner, load balancer, port) of every entry."""
    return [(o, e.lb, e.port) for o, held in books.owners.items() for e in entries_of("", orjson.loads(held))]


def _ports(books: Books) -> Iterator[str]:
    places = Counter((lb, port) for _, lb, port in _held(books))
    yield from (f"{place} has {owners} owners" for place, owners in places.items() if owners > 1)
    start = books.number("start")
    for lb in books.names("used") | books.names("facts") | {lb for lb, _ in places}:
        foreign = set(books.facts(lb)["foreign"] or ()) if f"facts:{lb}" in books.lbs else set()
        held = {port for name, port in places if name == lb}
        yield from (f"{lb}:{port} is held, and foreign" for port in held & foreign)
        taken = {port - start for port in held | foreign | books.absent(lb) if start <= port <= 65535}
        if books.bits(lb) != taken:
            yield f"{lb} has the bits {sorted(books.bits(lb))}, taken are {sorted(taken)}"
        if books.of("used", lb) != len(held):
            yield f"{lb} counts {books.of('u', lb)} in use, {len(held)} are"


def _counts(books: Books) -> Iterator[str]:
    free = sum(max(0, books.of("capacity", lb) - books.of("used", lb)) for lb in books.names("capacity"))
    if books.number("free") != free:
        yield f"free is {books.number('free')}, {free} are"
    slots = {str(books.facts(lb)["slot"]): lb for lb in books.names("facts") if books.facts(lb)["slot"] >= 0}
    if books.slots != slots:
        yield f"slots are {books.slots}, load balancers say {slots}"


def _indexes(books: Books) -> Iterator[str]:
    roomy = {lb for lb in books.names("capacity") if books.of("capacity", lb) > books.of("used", lb)}
    order = {lb: float(books.facts(lb)["position"]) for lb in roomy}
    room = {lb: float(books.of("used", lb)) for lb in roomy}
    if books.order != order:
        yield f"order is {books.order}, with room are {order}"
    if books.room != room:
        yield f"room is {books.room}, with room are {room}"


def _shares(books: Books) -> Iterator[str]:
    """What each namespace holds or waits for, and who waits for its share."""
    claims = Counter(owner.partition("/")[0] for owner, _, _ in _held(books))
    for name, demand in books.demand.items():
        claims[name.partition("/")[0]] += int(demand.partition(":")[0])
    counted = {space: int(ports) for space, ports in books.spaces.items()}
    if counted != dict(claims):
        yield f"namespaces are counted as {counted}, they have {dict(claims)}"
    if sorted(books.cap.values()) != sorted(books.capped) or books.number("capped") != len(books.cap):
        yield f"capped are {books.cap} and {books.capped}, counted {books.number('capped')}"
    if both := books.cap.keys() & books.demand.keys():
        yield f"{both} are capped and wait"


def _list(books: Books) -> Iterator[str]:
    ports = {name: int(demand.partition(":")[0]) for name, demand in books.demand.items()}
    if set(books.waiting) & set(books.woken) or set(books.waiting) | set(books.woken) != set(ports):
        yield f"waiting {set(books.waiting)}, woken {set(books.woken)}, of {set(ports)}"
    if books.number("demand") != sum(ports.values()):
        yield f"demand is {books.number('demand')}, {sum(ports.values())} are wanted"
    if books.number("waiters") != len(ports):
        yield f"waiters are {books.number('waiters')}, {len(ports)} are"
    stuck = sum(ports[name] for name in books.waiting if books.demand[name].split(":")[2] == "1")
    if books.number("stuck") != stuck:
        yield f"stuck is {books.number('stuck')}, {stuck} are"
    kinds = [[int(n) for n in books.demand[name].split(":")[4].split(",") if n] for name in books.woken]
    kept = [sum(row) for row in zip(*(row for row in kinds if row), strict=True)]
    said = [int(n) for n in books.meta.get("kept", "").split(",") if n]
    if (any(said) and kept != said) or (any(kept) and kept != said):
        yield f"of each kind {said} are kept, for the woken {kept}"
    woken = sum(ports.get(name, 0) for name in books.woken)
    if books.number("woken") != woken:
        yield f"woken is {books.number('woken')}, {woken} are"


def _stock(books: Books) -> Iterator[str]:
    """A free port of a precreated pool is in stock, and only such are missing that are not."""
    start, held = books.number("start"), _held(books)
    for lb in books.names("absent"):
        mine, absent = {port for _, name, port in held if name == lb}, books.absent(lb)
        foreign = set(books.facts(lb)["foreign"] or ())
        stocked = {port for port in range(start, start + books.number("size")) if f"{lb}:{port}" in books.stock}
        if absent != set(range(start, start + books.number("size"))) - stocked - mine - foreign:
            yield f"{lb} lacks {sorted(absent)}, has {sorted(stocked)}, held are {sorted(mine)}"
        if lb in books.names("capacity") and books.of("capacity", lb) != len((stocked | mine) - (foreign - mine)):
            yield f"{lb} can carry {books.of('c', lb)}, {sorted(stocked)} are in stock, {sorted(mine)} held"
        if int(books.coming.get(lb, 0)) > len(absent):
            yield f"{books.coming[lb]} are to come on {lb}, {len(absent)} are missing"
    yield from (f"{lb} has a stock and is not in the pool" for lb in set(books.coming) - books.names("absent"))


def _idle(books: Books) -> Iterator[str]:
    for lb in books.names("facts"):
        if not books.of("used", lb) and f"empty:{lb}" not in books.lbs:
            yield f"nobody knows since when {lb} is empty"
        if f"retiring:{lb}" in books.lbs and books.of("capacity", lb):
            yield f"{lb} is retiring and may carry {books.of('c', lb)}"


def grow_old(redis: Redis, prefix: str, by: timedelta) -> None:
    """As if every load balancer had been empty for that much longer."""
    books = read(redis, prefix)
    for lb in books.names("empty"):
        redis.hset(f"{prefix}lbs", f"empty:{lb}", str(books.of("empty", lb) - by // timedelta(milliseconds=1)))


def _times(books: Books) -> Iterator[str]:
    for owner, held in books.owners.items():
        first = min((e.until for e in entries_of("", orjson.loads(held)) if e.until), default=0)
        if first and books.retained.get(owner, first + 1) > first:
            yield f"{owner} has an entry retained until {first}, the sweep looks at {books.retained.get(owner)}"
