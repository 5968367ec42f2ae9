"""The ledger of one pool: which ports are taken and by whom. Every method is one script, one step of Redis.

A run opens the ledger first. Every later script of the run carries its name, its token and the incarnation under which
it began. A script refuses a run whose token is no longer the newest (StaleToken), and every run while the ledger must
be rebuilt (NotReady).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import orjson
from redis import Redis

from berthmaster.errors import StaleToken, TransientError
from berthmaster.redis.incarnation import INCARNATION, doubt_at_times
from berthmaster.redis.scripts import Scripts
from domain.port_pools.placement import Ordering
from domain.ports.entry import Entry
from workers.stores.ports.codec import encode_item, entries_of, texts
from workers.stores.ports.question import Ask, question_of

EXPIRED_PAGE: Final = 1000
EXPIRED_AGAIN: Final = timedelta(minutes=1)
LUA: Final = Path(__file__).parents[1] / "lua"


class NotReady(TransientError):  # noqa: N818 - an expected wait, said in the scripts' own word
    """The ledger was not verified under the Redis process that answers: it must be rebuilt first."""


class EntryChanged(StaleToken):
    """The entry is no longer what this run read: another run, a rebuild or the sweep came between."""


def load_scripts(redis: Redis) -> Scripts:
    """Load every script of the ledger. Reads files, so call it once a process."""
    return Scripts(redis, LUA)


@dataclass(frozen=True)
class Carrier:
    """A load balancer as a run needs it."""

    arn: str
    dns: str


@dataclass(frozen=True)
class Granted:
    """Every entry of the owner, old and new, and the load balancers that carry them.

    `woken`: names that may get the room that was kept for this owner while it waited.
    """

    entries: tuple[Entry, ...]
    carriers: dict[str, Carrier]
    woken: tuple[str, ...] = ()


@dataclass(frozen=True)
class Full:
    """Nothing was allocated; the owner is on the waiting list. `epoch`: the capacity epoch; `woken` as in Granted.

    `created`: the load balancers that the pool has created.
    `failure`: the entry of a wait that has begun (see workers.stores.outbox), None for an owner that waited already.
    """

    epoch: str
    woken: tuple[str, ...] = ()
    failure: str | None = None
    created: int = 0


@dataclass(frozen=True)
class Capped:
    """Nothing was allocated: the namespace holds and waits for `used` ports of its share of `most`.

    The owner is woken when its namespace has room, and adds no demand. `woken` as in Granted, `failure` as in Full.
    """

    most: int
    used: int
    woken: tuple[str, ...] = ()
    failure: str | None = None


@dataclass(frozen=True)
class Candidates:
    """`created`: how many load balancers the pool has created; `taken`: port bits of each one with room.

    `freed` counts how often ports became free in the pool. It dates this list.
    """

    created: int
    freed: str
    taken: tuple[bytes, ...]


@dataclass(frozen=True)
class Closed:
    """The pool gives no ports: it is not Active."""


@dataclass(frozen=True)
class Aim:
    """What a run must know before it registers an address at a precreated port. `listener` '': there is none.

    `comparison` is the comparison request that the run serves, '' for none; `tried`: all addresses that may be there.
    """

    listener: str
    target_group: str
    comparison: str
    tried: frozenset[str]


Answer = Granted | Full | Capped | Closed


class PodLedger:
    """One run's access to one pool: its name, token and incarnation go with every script."""

    def __init__(self, ledger: Ledger, name: str, token: str, reply: Sequence[Any]) -> None:
        self.ledger, self.name, self.token = ledger, name, token
        inc, epoch, state, config, held, waits, due, *lbs = reply
        self.incarnation = inc.decode().rpartition("/")[2]
        self.epoch, self.state = epoch.decode(), state.decode()
        self.config: bytes = config
        self.carriers = _carriers(zip(lbs[::2], map(orjson.loads, lbs[1::2]), strict=True))
        self.entries, self.waits = entries_of(ledger.pool, orjson.loads(held or b"{}")), bool(waits)
        self.due = frozenset(texts(due))

    def allocate(self, uid: str, wants: Sequence[Ask], order: Ordering, segment: int = 1) -> Answer:
        """Allocate all requests or none; a range of several ports has the keys KEY+0, KEY+1 and so on.

        The ports of one owner go to one load balancer if they fit there. A range begins at a multiple of `segment`
        ports from the pool's first.
        """
        reply = self._answered("allocate", INCARNATION, self.question(uid, wants, order, segment))
        if isinstance(reply, bytes):
            return self._granted(reply)
        return Closed() if reply[0] == b"CLOSED" else _refused(reply)

    def take(self, uid: str, want: Ask, order: Ordering, segment: int, port: int) -> Granted | Capped | Closed | None:
        """Allocate a request from exactly `port` on, on any load balancer. None: no load balancer has it free."""
        question = self.question(uid, [want], order, segment, port)
        reply = self._answered("allocate", INCARNATION, question)
        if isinstance(reply, bytes):
            return self._granted(reply)
        if reply[0] == b"QUOTA":
            return _capped(reply)
        return Closed() if reply[0] == b"CLOSED" else None

    def candidates(self, ports: int) -> Candidates:
        """List the load balancers that have room for so many ports."""
        _, created, freed, *bits = self._script("list_candidates", ports)
        return Candidates(int(created), freed.decode(), tuple(bits))

    def wait(self, uid: str, ports: int, kinds: Sequence[int], freed: str) -> Full | Capped | None:
        """Join the waiting list for so many ports; 0: only to be woken. None: ports became free after `freed`."""
        reply = self._script("join_waiting_list", ports, ",".join(map(str, kinds)), freed, uid)
        return None if reply[0] == b"CHANGED" else _refused(reply)

    def _granted(self, reply: bytes) -> Granted:
        answer = orjson.loads(reply)
        lbs = ((name.encode(), facts) for name, facts in answer["lbs"].items())
        return Granted(entries_of(self.ledger.pool, answer["entries"]), _carriers(lbs), tuple(answer["woken"]))

    def question(self, uid: str, wants: Sequence[Ask], order: Ordering, segment: int = 1, port: int = 0) -> bytes:
        """Return the script `allocate`'s second argument, see `question_of`."""
        return question_of((self.incarnation, self.name, self.token, uid), wants, order, segment, port)

    def record(self, uid: str, entries: Sequence[Entry]) -> None:
        """Write state, ARNs and target of each entry. Raises EntryChanged when an entry is no longer `uid`'s."""
        self._checked("record_entries", uid, orjson.dumps({e.key: encode_item(e) for e in entries}))

    def aim(self, entry: Entry, target: str) -> Aim:
        """Note, before the call, that `target` (ip:port, '' = none) will be registered at a precreated port."""
        listener, group, comparison, *tried = self._checked("announce_target", entry.uid, entry.key, target)[1:]
        return Aim(listener.decode(), group.decode(), comparison.decode(), frozenset(texts(tried[0])))

    def aimed(self, entry: Entry, comparison: str) -> bool:
        """Record target and state. True: compare the targets again, `comparison` was not the newest request."""
        return bool(self._checked("record_target", entry.uid, entry.key, entry.target, entry.state, comparison)[1])

    def releasing(self, entry: Entry) -> None:
        """Mark the entry releasing, which is never undone. Raises EntryChanged."""
        self._checked("mark_releasing", entry.uid, entry.key, entry.listener, entry.target_group)

    def free(self, entry: Entry) -> tuple[str, ...]:
        """Free the entry. Returns the names that were woken."""
        return texts(self._checked("free_entry", entry.uid, entry.key)[1])

    def retain(self, entry: Entry) -> int:
        """Retain the entry, with its ARNs, for the next pod of the name. Returns its end in ms of Redis's clock."""
        return int(self._checked("retain_entry", entry.uid, entry.key, entry.listener, entry.target_group)[1])

    def inherit(self, uid: str, entries: Sequence[Entry]) -> None:
        """Give entries of dead pods of the name to `uid`. Raises EntryChanged when the retention of one is over."""
        self._checked("inherit_entries", uid, orjson.dumps({e.key: e.uid for e in entries}))

    def confirm(self, entry: Entry) -> None:
        """Raise EntryChanged unless the entry still belongs to its uid and is not releasing."""
        self._checked("confirm_entry", entry.uid, entry.key)

    def give_way(
        self, entry: Entry, name: str, uid: str, want: str, listener: str, target_group: str
    ) -> tuple[str, ...]:
        """Hand the port to the pod `name`. Returns the names for which their namespace's share has room now."""
        return texts(self._checked("hand_over_entry", entry.uid, entry.key, name, uid, want, listener, target_group)[1])

    def foreign(self, entry: Entry) -> tuple[str, ...]:
        """Mark the port foreign. Returns the names that were woken."""
        return texts(self._checked("mark_port_foreign", entry.uid, entry.key)[1])

    def crowded(self, entry: Entry) -> tuple[str, ...]:
        """Mark the load balancer full: AWS takes no more listeners on it. Returns the names that were woken."""
        return texts(self._checked("mark_load_balancer_full", entry.uid, entry.key)[1])

    def leave(self) -> tuple[str, ...]:
        """Leave the waiting list. Returns the names that were woken."""
        return texts(self._script("leave_waiting_list")[1])

    def _checked(self, script: str, *args: Any) -> list[bytes]:
        reply = self._script(script, *args)
        if reply[0] == b"CHANGED":
            raise EntryChanged(
                f"{script} of {args[1] if len(args) > 1 else self.name} in pool {self.ledger.pool} came too late"
            )
        return reply

    def _script(self, script: str, *args: Any) -> list[Any]:
        return self._answered(script, INCARNATION, self.incarnation, self.name, self.token, *args)

    def _answered(self, script: str, *args: Any) -> list[Any]:
        reply = self.ledger.call(script, *args)
        if reply[0] == b"STALE":
            raise StaleToken(f"a newer run has opened {self.name} in pool {self.ledger.pool}")
        return reply


class Ledger:
    """The ledger of `pool`. Cheap to make: the scripts are shared."""

    def __init__(self, redis: Redis, scripts: Scripts, pool: str) -> None:
        self.redis, self.pool, self.prefix, self._scripts = redis, pool, f"{{pp:{pool}}}", scripts

    def call(self, script: str, *args: Any) -> list[Any]:
        """Run a script and return its reply. Raises NotReady."""
        reply: list[Any] = self._scripts[script]([self.prefix], args)
        if reply[0] == b"NOT_READY":
            doubt_at_times(self.redis)
            raise NotReady(f"the ledger of pool {self.pool} is not ready")
        return reply

    def open(self, name: str, token: str) -> PodLedger:
        """Begin a run. Raises NotReady, or StaleToken after a run with a newer token."""
        status, *rest = self.call("open_run", INCARNATION, name, token)
        if status == b"LOW":
            raise StaleToken(f"a newer run has opened {name} in pool {self.pool}")
        return PodLedger(self, name, token, rest)

    def expire(self, again: timedelta = EXPIRED_AGAIN) -> tuple[str, ...]:
        """End the retention of entries that is over. Returns the names to release, each at most once per `again`."""
        return texts(self.call("expire_retained", INCARNATION, EXPIRED_PAGE, again // timedelta(milliseconds=1))[1])

    def orphan(self, name: str, uid: str, key: str, listener: str, target_group: str) -> str:
        """Take a free port as releasing for an orphan's owner: OK, or why not.

        TAKEN: it has an owner or is foreign. OUTSIDE: the ledger has no such port.
        """
        return str(self.call("take_orphan", INCARNATION, name, uid, key, listener, target_group)[0].decode())


def _refused(reply: Sequence[Any]) -> Full | Capped:
    if reply[0] == b"QUOTA":
        return _capped(reply)
    return Full(reply[1].decode(), texts(reply[2]), reply[3].decode() or None, int(reply[4]))


def _capped(reply: Sequence[Any]) -> Capped:
    return Capped(int(reply[1]), int(reply[2]), texts(reply[3]), reply[4].decode() or None)


def _carriers(rows: Iterable[tuple[bytes, dict[str, Any]]]) -> dict[str, Carrier]:
    return {name.decode(): Carrier(facts["arn"], facts["dns"]) for name, facts in rows}
