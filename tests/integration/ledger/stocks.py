"""A pool of precreated listeners, and filling it."""

from __future__ import annotations

from typing import Final

from redis import Redis

from tests.support.ports.builders import START, load_balancer
from tests.support.ports.live_pool import LivePool
from workers.stores.ports.precreated import Stock

SIZE: Final = 5
KINDS: Final = (3, 2, 0)
TCP, UDP = 1, 2


def unfilled(redis: Redis) -> LivePool:
    """One load balancer for five precreated listeners, of which none is there."""
    made = LivePool(redis, "arena", START, SIZE, KINDS)
    made.rebuild()
    made.configure([load_balancer(capacity=SIZE)])
    return made


def put(pool: LivePool, *numbers: int, lb: str = "lb-0") -> tuple[str, ...]:
    """Puts these listeners in stock; the names that were woken."""
    woken: tuple[str, ...] = ()
    for n in numbers:
        woken += Stock(pool.ledger).put(f"{lb}:{START + n}", f"arn:l{n}", f"arn:g{n}")
    assert pool.faults() == []
    return woken
