"""The samples of a scrape, counted from the present state in Redis: three round trips for any number of pools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple

import structlog
from redis import Redis
from redis.client import Pipeline

from berthmaster.jobs.unreadable import UnreadableLedger, readable
from berthmaster.redis.incarnation import INCARNATION
from events.workqueue import Workqueue
from workers.stores.claims.index import PHASES
from workers.stores.pool_names import PodPoolNames, PoolNames
from workers.stores.ports import tally
from workers.stores.slots import tally as slots_tally
from workers.stores.ticks import age, done_key

log = structlog.get_logger()
READABLE: Final = "berthmaster_pool_readable"

Numbers = dict[str, dict[tuple[str, ...], float]]
"""Name of a gauge -> values of its labels -> number."""


class LedgerKind(NamedTuple):
    """A kind of ledger. `ask` queues `commands` commands for the pool of a prefix, `read` counts in their replies."""

    names: str
    prefix: str
    commands: int
    ask: Callable[[Pipeline, str], object]
    read: Callable[..., dict[str, dict[str, float]]]


KINDS: Final = (
    LedgerKind(PoolNames.key, "{pp:%s}", tally.COMMANDS, tally.ask, tally.count),
    LedgerKind(PodPoolNames.key, "{sp:%s}", slots_tally.COMMANDS, slots_tally.ask, slots_tally.count),
)


class Tally:
    """Counts for a scrape. `queues`: the broker's, if it is this Redis; `periods`: of the tasks that beat sends."""

    def __init__(self, redis: Redis, queues: Sequence[str], periods: Mapping[str, timedelta]) -> None:
        self._redis, self._queues, self._periods = redis, queues, periods
        self._workqueue = Workqueue(redis, publish=lambda _: None)

    def read(self) -> Numbers:
        """Count. The numbers may be of different instants. Raises redis-py's errors."""
        depth = self._workqueue.depth()
        numbers: Numbers = {"berthmaster_queue_oldest_seconds": {(): depth.pop("oldest_ready_seconds")}}
        numbers["berthmaster_queue_keys"] = {(state,): number for state, number in depth.items()}
        pipe = self._redis.pipeline(transaction=False)
        for queue in self._queues:
            pipe.llen(queue)
        for kind in KINDS:
            pipe.smembers(kind.names)
        pipe.hgetall(PHASES)
        for task in self._periods:
            pipe.pttl(done_key(task))
        replies = iter(pipe.execute())
        numbers["berthmaster_broker_messages"] = {(queue,): next(replies) for queue in self._queues}
        names, claims = [next(replies) for _ in KINDS], next(replies)
        numbers["berthmaster_tick_age_seconds"] = {(task,): age(next(replies)) for task in self._periods}
        numbers["berthmaster_tick_period_seconds"] = {(task,): p.total_seconds() for task, p in self._periods.items()}
        numbers["berthmaster_claims"] = _claims(claims)
        pools = [(kind, name.decode()) for kind, some in zip(KINDS, names, strict=True) for name in sorted(some)]
        for name, samples in self._counted(pools):
            for gauge, by_state in samples.items():
                for state, number in by_state.items():
                    numbers.setdefault(gauge, {})[(name, state) if state else (name,)] = number
        return numbers

    def _counted(self, pools: Sequence[tuple[LedgerKind, str]]) -> Iterable[tuple[str, dict[str, dict[str, float]]]]:
        """(pool, gauge -> state, or '' for a gauge without -> number). A pool that cannot be read has one gauge."""
        pipe = self._redis.pipeline(transaction=False)
        pipe.echo(INCARNATION)
        for kind, name in pools:
            kind.ask(pipe, kind.prefix % name)
        server, *replies = pipe.execute(raise_on_error=False)
        rest = iter(replies)
        for kind, name in pools:
            try:
                numbers = _of_pool(kind, server, [next(rest) for _ in range(kind.commands)])
            except UnreadableLedger as error:
                log.warning("pool_unreadable", pool=name, reason=str(error))
                yield name, {READABLE: {"": 0.0}}
            else:
                yield name, {**numbers, READABLE: {"": 1.0}}


@readable()
def _of_pool(kind: LedgerKind, server: bytes, replies: list[Any]) -> dict[str, dict[str, float]]:
    """Raises UnreadableLedger, and what says how the server is."""
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply
    return kind.read(server, *replies)


def _claims(phases: dict[bytes, bytes]) -> dict[tuple[str, ...], float]:
    counts: Counter[tuple[str, ...]] = Counter()
    for name, phase in phases.items():
        counts[(name.decode().partition("/")[0], phase.decode())] += 1
    return dict(counts)
