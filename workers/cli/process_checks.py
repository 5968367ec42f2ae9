"""The checks of `doctor` for our processes, by what they leave in Redis and in the broker.

A Redis that no publisher has ever written to is one before the start of a fleet: whatever does not run there is a
warning. Afterwards it is a fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

from berthmaster import routing
from berthmaster.redis.client import connect_state
from berthmaster.redis.identity import Identity
from berthmaster.redis.outage import OUTAGE
from domain.quantity import quantity
from events.workqueue import Publication, Workqueue
from workers.cli.check import Check
from workers.cli.checks import messages_or_problem
from workers.cli.job_words import as_time
from workers.settings import WorkerSettings
from workers.stores.ticks import REMEMBERED, age, done_key

FRESH: Final = 60.0
"""Seconds. The tick that is looked at comes once a second, and may wait behind an audit."""
TICK_QUEUE: Final = routing.QUEUES[routing.QUEUE_TICK]


def process_checks(settings: WorkerSettings) -> Iterator[Check]:
    """Check that publisher, beat and workers run. Nothing while Redis cannot be read: another check reports that."""
    redis: Any = connect_state(settings.redis, Identity(settings.cluster))
    try:
        publication = Workqueue(redis, hint_queue=routing.LATENCY).publication()
        silence = age(redis.pttl(done_key(routing.QUEUE_TICK)))
    except OUTAGE:
        return
    yield judge_publisher(publication)
    messages = messages_or_problem(settings.broker_url, TICK_QUEUE) if silence > FRESH else 0
    yield judge_ticks(silence, messages, begun=publication.epoch is not None)


def judge_publisher(publication: Publication) -> Check:
    """Judge whether a publisher has opened the workqueue. That it still runs is in its Lease."""
    name = "Publisher has listed the cluster"
    if publication.epoch is None:
        finding = (
            "no publisher has ever written here: start it (`berthmaster publisher`), or is the database number in "
            "BERTHMASTER_REDIS__URL right?"
        )
        return Check(name, ok=True, finding=finding, warns=True)
    who = publication.epoch.partition(":")[2]
    if publication.stamped:
        return Check(name, ok=True, finding=f"{who} has")
    finding = (
        f"not since this Redis lost or changed its state, and workers take nothing until then; the last one was {who}: "
        "start it (`berthmaster publisher`), or see its log"
    )
    return Check(name, ok=False, finding=finding)


def judge_ticks(silence: float, messages: int | str, *, begun: bool) -> Check:
    """Judge whether beat sends ticks and workers do them.

    `silence`: seconds since the last one, at least `REMEMBERED` if there was none. `messages`: how many wait in
    `TICK_QUEUE`, or why that is not known. `begun`: a publisher has been here.
    """
    name = "Beat and workers run"
    if silence <= FRESH:
        return Check(name, ok=True, finding=f"a tick of beat was done {silence:.0f} s ago")
    never = silence >= REMEMBERED.total_seconds()
    since = "no tick was done for a week" if begun else "no tick was ever done here"
    since = since if never else f"the last tick was done {as_time(timedelta(seconds=silence))} ago"
    both = "start beat (`berthmaster beat`) and workers (`berthmaster worker`)"
    if isinstance(messages, str):
        finding = f"{since}, and nobody knows how many wait: {messages}; {both}"
    elif messages:
        waits = f"{quantity(messages, 'message')} in the queue {TICK_QUEUE}"
        finding = f"{since}, with {waits}: no worker takes them, or all are busy; start `berthmaster worker`"
    else:
        finding = f"{since}, and beat has sent none: {both}"
    return Check(name, ok=not begun, finding=finding, warns=True)
