"""The checks of `doctor`. Each check says what it checks, whether that is in order, what it found and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from berthmaster import routing
from berthmaster.broker.address import broker_problem, broker_refusal, in_brief, messages_in
from berthmaster.redis.address import SentinelAddress, by_sentinel
from berthmaster.redis.client import connect_state
from berthmaster.redis.identity import AnotherFleet, Identity
from berthmaster.redis.outage import OUTAGE
from berthmaster.redis.settings import StateSettings
from berthmaster.redis.unusable import UnusableRedis
from domain.quantity import quantity
from events.workqueue import Workqueue
from workers.cli.check import Check
from workers.cli.clocks import judge_clock
from workers.cli.sentinel_checks import judge_replication, judge_sentinels
from workers.cli.troubles import in_words
from workers.settings import WorkerSettings
from workers.stores.sentinel_facts import Replication, replication, sentinel_facts
from workers.stores.server_facts import ServerFacts, lets_everybody_in, server_facts

OLDEST_REDIS: Final = (7, 0)
LUA_FIXED: Final = {
    "Redis": ((7, 2, 11), (7, 4, 6), (8, 0, 4), (8, 2, 2)),
    "Valkey": ((7, 2, 11), (8, 0, 6), (8, 1, 4)),
}
"""The first version of each branch that fixes CVE-2025-49844, -46817, -46818 and -46819. Later branches are fixed."""
WITHOUT_LOG: Final = (
    "off: after a crash or a failover the fleet rebuilds its state and grants nothing for a minute or two; jobs that "
    "waited come back when their clients submit them again"
)
MEMORY_WARNS, MEMORY_FAILS = 0.75, 0.9
QUEUE_LONG, QUEUE_OLD = 10_000, 60.0  # keys, seconds
UNREAD_QUEUE: Final = "celery"
"""Celery's default queue: where a task goes that is sent without one."""


def redis_checks(settings: StateSettings, fleet: Callable[[], Identity]) -> Iterator[Check]:
    """Check the Redis of the fleet, and Sentinel if there is one. `fleet`: our identity, read only when needed."""
    address = SentinelAddress.parse(settings.url) if by_sentinel(settings.url) else None
    sentinels = list(sentinel_facts(address)) if address else []
    yield from judge_sentinels(sentinels, address) if address else ()
    redis = connect_state(settings)
    try:
        facts = server_facts(redis)
        yield from judge_server(facts)
        yield from judge_failover(replication(redis), settings, behind_sentinel=bool(address))
        yield judge_password(open_to_all=lets_everybody_in(settings))
        if not facts.loading:
            queue = Workqueue(redis, hint_queue=routing.LATENCY)
            yield judge_owner(queue.owner(), fleet())
            yield judge_queue(queue.depth())
    except UnusableRedis as refusal:
        yield Check("Redis is of a kind that works", ok=False, finding=str(refusal))
    except OUTAGE as error:
        yield Check("Redis answers", ok=False, finding=in_words(error))


def judge_failover(replication: Replication, settings: StateSettings, *, behind_sentinel: bool) -> list[Check]:
    """Judge what a failover costs. Without Sentinel it is only a warning: its provider may keep the old one away."""
    if not (behind_sentinel or replication.replicas):
        return []
    judged = judge_replication(replication, settings.rest(promoted=True))
    if behind_sentinel:
        return judged
    return [check._replace(ok=True, warns=check.warns or not check.ok) for check in judged]


def judge_server(facts: ServerFacts) -> list[Check]:
    """Check version, durability, eviction, role, memory and clock of the server."""
    if facts.loading:  # while it loads, INFO says that it has no append-only file
        return [Check("Redis has its data", ok=False, finding="still loading it, wait")]
    version, primary = ".".join(map(str, facts.version)), facts.role == "master"
    log = "on" if facts.append_only else WITHOUT_LOG
    evicts = facts.eviction != "noeviction"
    eviction = f"{facts.eviction}: state would vanish; set maxmemory-policy noeviction" if evicts else facts.eviction
    return [
        Check("Redis is 7.0 or newer", facts.version >= OLDEST_REDIS, version),
        Check("Redis keeps an append-only file", ok=True, finding=log, warns=not facts.append_only),
        Check("Redis evicts nothing", not evicts, eviction),
        Check("Redis is a primary", primary, facts.role if primary else f"{facts.role}: name its primary"),
        judge_scripting(facts),
        judge_memory(facts.memory),
        judge_clock("Redis", facts.clock),
    ]


def judge_owner(owner: Identity | None, fleet: Identity) -> Check:
    """Check that the Redis belongs to this fleet."""
    name = "Redis belongs to this fleet"
    if owner is None:
        return Check(name, ok=True, finding="to none yet: no publisher has claimed it")
    return Check(name, owner.matches(fleet), str(owner) if owner.matches(fleet) else str(AnotherFleet(owner, fleet)))


def judge_scripting(facts: ServerFacts) -> Check:
    """Warn about an old version, but never fail: providers patch servers without a new version number."""
    kind, version = ("Valkey", facts.valkey) if facts.valkey else ("Redis", facts.version)
    fixed, name = LUA_FIXED[kind], f"{kind} {'.'.join(map(str, version))}"
    ok = version > fixed[-1] or any(version[:2] == first[:2] and version >= first for first in fixed)
    first = ", ".join(".".join(map(str, version_fixed)) for version_fixed in fixed)
    advice = (
        f"{name}: whoever may send scripts may run code on it (CVE-2025-49844 and others); use {first} or newer, "
        "unless its provider has patched it"
    )
    return Check("Redis has the fixes of 2025 for scripts", ok=True, finding=name if ok else advice, warns=not ok)


def judge_password(*, open_to_all: bool) -> Check:
    """Warn if Redis needs no password."""
    advice = (
        "no: everybody who reaches it may do everything, a runner too, whatever its pool's token says; set requirepass "
        "(or give the ACL user default a password, or turn it off), and the password in BERTHMASTER_REDIS__URL"
    )
    return Check("Redis asks for a password", ok=True, finding=advice if open_to_all else "yes", warns=open_to_all)


def judge_memory(used: float | None) -> Check:
    """Check how full Redis is. `used`: the share of maxmemory, None without a limit."""
    name = "Redis has memory left"
    if used is None:
        return Check(name, ok=True, finding="no limit of its own")
    usage = f"{used:.0%} of maxmemory in use" + (": full, it refuses writes; raise it" if used >= MEMORY_WARNS else "")
    return Check(name, used < MEMORY_FAILS, usage, used >= MEMORY_WARNS)


def judge_queue(depth: dict[str, float]) -> Check:
    """Warn about a long or old queue, but never fail: a storm of changes passes."""
    dirty, oldest = depth["dirty"], depth["oldest_ready_seconds"]
    warns = dirty > QUEUE_LONG or oldest > QUEUE_OLD
    advice = ": do workers run, and enough of them?" if warns else ""
    return Check(
        "Workqueue", ok=True, finding=f"{quantity(round(dirty), 'key')}, the oldest {oldest:.0f} s{advice}", warns=warns
    )


def broker_checks(settings: WorkerSettings) -> Iterator[Check]:
    """Check that the broker answers, if it is not the Redis of the fleet, and that senders name a queue."""
    problem = broker_problem(settings.broker_url)
    if not settings.broker_is_state:
        yield Check("broker answers", problem is None, problem or "yes")
        if refusal := broker_refusal(settings.broker_url):
            yield Check("broker is of a kind that works", ok=False, finding=str(refusal))
    if problem is None:
        yield judge_unread(messages_or_problem(settings.broker_url, UNREAD_QUEUE))


def messages_or_problem(broker_url: str, queue: str) -> int | str:
    """Return how many messages a queue has, or why nobody can tell."""
    try:
        return messages_in(broker_url, queue)
    except Exception as error:  # noqa: BLE001 - each transport has exceptions of its own
        return in_brief(error) or type(error).__name__


def judge_unread(messages: int | str) -> Check:
    """Warn about messages in Celery's default queue. `messages`: their number, or why it is not known."""
    name = "Senders name a queue"
    if isinstance(messages, str):
        return Check(name, ok=True, finding=f"unknown: {messages}", warns=True)
    advice = (
        f"the list {UNREAD_QUEUE} has {quantity(messages, 'message')}, and no process of Berthmaster reads it: "
        f'somebody sent tasks without a queue. Send them with queue="{routing.JOBS}" (docs/reference/tasks.md names '
        f"the queue of each task), and delete the list if no other application reads it"
    )
    return Check(name, ok=True, finding=advice if messages else "yes", warns=messages > 0)
