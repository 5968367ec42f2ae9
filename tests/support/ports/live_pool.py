"""A pool's ledger on a real Redis; each method does what a run, a scale-up winner or the pool's own run does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any

from redis import Redis

from berthmaster.redis.incarnation import INCARNATION
from domain.port_pools.placement import Ordering, ordering
from domain.port_pools.port_pool import LoadBalancerPolicy
from domain.ports.entry import Entry
from tests.support.ports.ledger_recount import faults, grow_old
from workers.stores.ports.codec import Item, encode_owner
from workers.stores.ports.ledger import Answer, Full, Granted, Ledger, PodLedger, load_scripts
from workers.stores.ports.pool_ledger import PoolLoadBalancer, PortPoolLedger, Span
from workers.stores.ports.question import Ask
from workers.stores.ports.retirement import Retirement
from workers.stores.ports.view import LedgerView, owners, view

IN_ORDER, UNIFORM, RANDOM = (ordering(policy) for policy in LoadBalancerPolicy)
Wants = int | Sequence[Ask]
"""A number of single ports, or each want with its number of consecutive ports."""


def single(ports: int) -> list[tuple[str, int]]:
    return [(f"{7000 + n}/UDP", 1) for n in range(ports)]


def uid_of(owner: str) -> str:
    return f"uid-of-{owner.rpartition('/')[2]}"


@dataclass
class LivePool:
    redis: Redis
    name: str
    start: int
    size: int
    kinds: tuple[int, ...] = ()
    _last: int = 0
    _nonces: count[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.scripts = load_scripts(self.redis)
        self.ledger = Ledger(self.redis, self.scripts, self.name)
        self.growth, self.retirement = PortPoolLedger(self.ledger), Retirement(self.ledger)

    # ---- runs of pods

    def token(self) -> str:
        """A token as the workqueue makes it: microseconds of the server, always higher, and a nonce."""
        seconds, micros = self.redis.time()
        self._last = max(self._last + 1, int(seconds) * 1_000_000 + int(micros))
        return f"{self._last}-{next(self._nonces)}"

    def run(self, owner: str = "games/a") -> PodLedger:
        return self.ledger.open(owner, self.token())

    def try_allocate(
        self, owner: str = "games/a", wants: Wants = 1, order: Ordering = IN_ORDER, uid: str = ""
    ) -> Answer:
        """Do a whole run of `owner`."""
        asked = single(wants) if isinstance(wants, int) else wants
        return self.run(owner).allocate(uid or uid_of(owner), asked, order)

    def allocate(
        self, owner: str = "games/a", wants: Wants = 1, order: Ordering = IN_ORDER, uid: str = ""
    ) -> tuple[Entry, ...]:
        """Allocate ports to `owner`; the pool must have enough. Returns the owner's entries."""
        answer = self.try_allocate(owner, wants, order, uid)
        assert isinstance(answer, Granted), answer
        return tuple(e for e in answer.entries if e.uid == (uid or uid_of(owner)))

    def fail(self, owner: str, wants: Wants = 1) -> Full:
        answer = self.try_allocate(owner, wants)
        assert isinstance(answer, Full), answer
        return answer

    def fill(self, ports: int, each: int = 50) -> None:
        """Let owners games/h0, games/h1 and so on hold `ports` in all, `each` ports each."""
        for n in range(ports // each):
            assert len(self.allocate(f"games/h{n}", each)) == each

    def fail_many(self, owners: Iterable[str], ports: int = 1) -> None:
        """Let a run of each owner fail, pipelined, as many workers at once would send them."""
        names = list(owners)
        first = int(self.token().partition("-")[0])
        tokens = [f"{first + n}-many" for n in range(len(names))]
        opened = self._pipelined("open_run", ([INCARNATION, n, t] for n, t in zip(names, tokens, strict=True)))
        runs = [PodLedger(self.ledger, n, t, reply[1:]) for n, t, reply in zip(names, tokens, opened, strict=True)]
        questions = ([INCARNATION, run.question(uid_of(run.name), single(ports), IN_ORDER)] for run in runs)
        replies = self._pipelined("allocate", questions)
        assert all(reply[0] == b"FULL" for reply in replies)

    def _pipelined(self, script: str, calls: Iterable[list[Any]]) -> list[Any]:
        replies: list[Any] = []
        rows = list(calls)
        for first in range(0, len(rows), 1000):
            pipeline = self.redis.pipeline(transaction=False)
            call = self.scripts[script].batch(pipeline)
            for args in rows[first : first + 1000]:
                call([self.ledger.prefix], args)
            replies += pipeline.execute()
        return replies

    def ports(self, owner: str, wants: Wants = 1, order: Ordering = IN_ORDER) -> list[tuple[str, int]]:
        return [(e.lb, e.port) for e in self.allocate(owner, wants, order)]

    def release(self, owner: str, entries: Sequence[Entry] | None = None) -> tuple[str, ...]:
        """Give back what the owner holds, or `entries`. Returns the names that were woken."""
        run = self.run(owner)
        woken: list[str] = []
        for held in run.entries if entries is None else entries:
            run.releasing(held)
            woken += run.free(held)
        return tuple(woken)

    def held(self) -> dict[str, tuple[Entry, ...]]:
        return dict(owners(self.ledger))

    # ---- the pool's own side

    def rebuild(self, world: Mapping[str, Sequence[Entry]] | None = None) -> None:
        """Rebuild the ledger from owner -> entries. The pool gives no ports before `configure`."""
        mark = self.growth.begin_rebuild()
        assert mark is not None, "the ledger is ready"
        assert self.growth.stamp(mark, self.start, stored(world or {}))

    def configure(
        self, lbs: Sequence[PoolLoadBalancer], state: str = "Active", config: dict[str, Any] | None = None
    ) -> tuple[str, ...]:
        """Configure the pool. Returns the names that were woken."""
        woken = self.growth.configure(
            self._last, self.view().epoch, state, config or {}, Span(self.start, self.size, self.kinds), lbs
        )
        assert woken is not None, "the epoch moved"
        return woken

    def view(self) -> LedgerView:
        return view(self.ledger)

    def waiting(self) -> set[str]:
        """The names on the waiting list, woken or not."""
        names: Any = self.redis.hkeys(f"{self.ledger.prefix}demand")
        return {name.decode() for name in names}

    def sweep(self, forgotten: timedelta = timedelta(hours=1)) -> tuple[str, ...]:
        return self.growth.pressure(forgotten).woken

    def prune_fences(self, age: timedelta) -> int:
        return self.growth.prune_fences(self._last, age)

    def grow_old(self, by: timedelta) -> None:
        """Make every load balancer empty for that much longer."""
        grow_old(self.redis, self.ledger.prefix, by)

    def faults(self) -> list[str]:
        """Differences in the ledger's own books."""
        return faults(self.redis, self.ledger.prefix)


def stored(world: Mapping[str, Sequence[Entry]]) -> dict[str, dict[str, Item]]:
    """The entries as `stamp` takes them."""
    return {name: encode_owner(entries) for name, entries in world.items()}
