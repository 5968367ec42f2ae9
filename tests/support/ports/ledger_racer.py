"""A worker process that only allocates: several of them race for the ports of one pool, or are killed in the middle.

`python -m tests.support.ports.ledger_racer MODE REDIS_URL POOL NAME SEED`; answers in JSON lines on standard output.
race: when there is an item in the list `start`, 10 threads allocate runs of 1 to 7 ports until not even one is left.
hold: allocates three ports as NAME, says so, and goes on no further. churn: allocates and releases until it is killed.
"""

from __future__ import annotations

import json
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

from berthmaster.redis.incarnation import connect
from tests.support.ports.live_pool import LivePool
from workers.stores.ports.ledger import Granted

THREADS = 10


def race(pool: LivePool, name: str, seed: int) -> list[Any]:
    """(owner, load balancer, port) of everything that was granted."""

    def until_full(thread: int) -> list[Any]:
        chance, found, largest = random.Random(seed * 100 + thread), [], 7
        for n in count():
            owner, ports = f"{name}/t{thread}-{n}", chance.randint(1, largest)
            answer = pool.try_allocate(owner, [("rtp", ports)])
            if isinstance(answer, Granted):
                found += [(owner, e.lb, e.port) for e in answer.entries]
            elif ports == 1:
                break
            else:
                largest = ports - 1
        return found

    with ThreadPoolExecutor(THREADS) as workers:
        return [row for rows in workers.map(until_full, range(THREADS)) for row in rows]


def churn(pool: LivePool, name: str) -> None:
    for n in count():
        pool.allocate(f"{name}/p{n}", 3)
        say(n)
        if n % 2:
            pool.release(f"{name}/p{n}")


def say(what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def main(mode: str, url: str, pool_name: str, name: str, seed: str) -> None:
    pool = LivePool(connect(url), pool_name, 30000, 1000)
    say("ready")
    if mode == "hold":
        say([(e.lb, e.port) for e in pool.allocate(name, 3)])
        sys.stdin.read()
    elif mode == "churn":
        churn(pool, name)
    else:
        pool.redis.brpop(["start"], 30)
        say(race(pool, name, int(seed)))


if __name__ == "__main__":
    main(*sys.argv[1:])
