"""What `doctor` checks. Each check is a line: what, whether it is well, and what was found, with the way out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from events import routing
from events.redis_address import SentinelAddress, by_sentinel
from events.settings import StateSettings
from events.workqueue import Workqueue
from workers.broker import broker_problem
from workers.cli.check import Check
from workers.cli.clocks import judge_clock
from workers.cli.sentinel_checks import judge_replication, judge_sentinels
from workers.cli.troubles import in_words
from workers.settings import WorkerSettings
from workers.stores.client import connect_state
from workers.stores.outage import OUTAGE
from workers.stores.sentinel_facts import replication, sentinel_facts
from workers.stores.server_facts import ServerFacts, server_facts

OLDEST_REDIS: Final = (7, 0)
MEMORY_WARNS, MEMORY_FAILS = 0.75, 0.9
QUEUE_LONG, QUEUE_OLD = 10_000, 60.0  # keys, seconds


def redis_checks(settings: StateSettings) -> Iterator[Check]:
    address = SentinelAddress.parse(settings.url) if by_sentinel(settings.url) else None
    told = list(sentinel_facts(address)) if address else []
    yield from judge_sentinels(told, address) if address else ()
    redis = connect_state(settings)
    try:
        facts = server_facts(redis)
        yield from judge_server(facts)
        if address:
            yield from judge_replication(replication(redis), settings.rest)
        if not facts.loading:
            yield judge_queue(Workqueue(redis, hint_queue=routing.LATENCY).depth())
    except OUTAGE as error:
        yield Check("Redis answers", ok=False, found=in_words(error))


def judge_server(facts: ServerFacts) -> list[Check]:
    if facts.loading:  # until it has, it denies that it keeps a file
        return [Check("Redis has its data", ok=False, found="still loading it, wait")]
    version, primary = ".".join(map(str, facts.version)), facts.role == "master"
    log = "on" if facts.append_only else "off: a crash loses data; set appendonly yes"
    evicts = facts.eviction != "noeviction"
    eviction = f"{facts.eviction}: state would vanish; set maxmemory-policy noeviction" if evicts else facts.eviction
    return [
        Check("Redis is 7.0 or newer", facts.version >= OLDEST_REDIS, version),
        Check("Redis keeps an append-only file", facts.append_only, log),
        Check("Redis evicts nothing", not evicts, eviction),
        Check("Redis is a primary", primary, facts.role if primary else f"{facts.role}: name its primary"),
        judge_memory(facts.memory),
        judge_clock("Redis", facts.clock),
    ]


def judge_memory(used: float | None) -> Check:
    name = "Redis has memory left"
    if used is None:
        return Check(name, ok=True, found="no limit of its own")
    found = f"{used:.0%} of maxmemory in use" + (": full, it refuses writes; raise it" if used >= MEMORY_WARNS else "")
    return Check(name, used < MEMORY_FAILS, found, used >= MEMORY_WARNS)


def judge_queue(depth: dict[str, float]) -> Check:
    """Never wrong by itself: a storm passes."""
    dirty, oldest = depth["dirty"], depth["oldest_queued_seconds"]
    warns = dirty > QUEUE_LONG or oldest > QUEUE_OLD
    advice = ": do workers run, and enough of them?" if warns else ""
    return Check("Workqueue", ok=True, found=f"{dirty:g} keys, the oldest {oldest:.0f} s{advice}", warns=warns)


def broker_checks(settings: WorkerSettings) -> Iterator[Check]:
    if not settings.broker_is_state:
        problem = broker_problem(settings.broker_url)
        yield Check("broker answers", problem is None, problem or "yes")
