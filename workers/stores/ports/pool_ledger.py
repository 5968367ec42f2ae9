"""The pool's own side of the ledger: waiting list, intents, epoch, rebuild and configuration. One script a method."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import orjson

from berthmaster.redis.incarnation import INCARNATION, doubt
from domain.port_pools.scale_up import Intent, ScaleUpLimits
from domain.ports.entry import Entry
from workers.stores.acquired_keys import milliseconds, token_of
from workers.stores.ports.codec import Item, texts
from workers.stores.ports.ledger import Ledger

FENCE_AGE: Final = timedelta(days=1)
FENCE_PAGE: Final = 500


@dataclass(frozen=True)
class PoolLoadBalancer:
    """A load balancer in the ledger.

    `slot` is -1 for one that is not ours, `capacity` 0 for one that gives no new ports now; `gives`: it does, or will
    once its precreated listeners are made. `empty_for` says nothing while it is in use.
    """

    name: str
    arn: str
    dns: str
    slot: int
    position: int
    capacity: int
    foreign: tuple[int, ...] = ()
    used: int = 0
    stock: tuple[tuple[int, str, str], ...] = ()  # precreated: port, listener ARN, target group ARN
    retiring: bool = False
    gives: bool = field(default=False, compare=False)
    empty_for: timedelta = field(default=timedelta(0), compare=False)

    def encoded(self) -> dict[str, Any]:
        """Return the load balancer as the ledger stores it."""
        keys = ("name", "arn", "dns", "slot", "position", "capacity", "retiring")
        return {k: getattr(self, k) for k in keys} | {"foreign": self.foreign, "stock": self.stock}


@dataclass(frozen=True)
class Span:
    """The ports of each load balancer of a pool; `kinds`: how many of each kind have precreated listeners, one after
    the other from the first, and then no others can be given.
    """

    first: int
    size: int
    kinds: tuple[int, ...] = ()


@dataclass(frozen=True)
class Pressure:
    """What the sweep reads: `short` ports are wanted beyond the free ones, `woken` names fit now."""

    epoch: str
    short: int
    intent_open: bool
    woken: tuple[str, ...]


class PortPoolLedger:
    """The ledger as the pool's own run and the sweep use it; pods use PodLedger."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.redis, self.prefix = ledger, ledger.redis, ledger.prefix

    # ---- scale-up

    def win(self, epoch: str, lease: timedelta) -> str | None:
        """Return the token of the epoch's one request that goes on, None for any other request. It only saves calls."""
        token = token_of(secrets.token_hex(8), lease)
        won = self.ledger.call("acquire_key", self.key_of(epoch), token)[0] == b"OK"
        return token if won else None

    def give_up_win(self, epoch: str, token: str) -> None:
        """Delete the winner's key, if the token still holds it."""
        self.ledger.call("end_key", self.key_of(epoch), token)

    def back_off(self, epoch: str, token: str, wait: timedelta) -> None:
        """Keep others away after the winner failed: its key ends after `wait`."""
        self.ledger.call("end_key", self.key_of(epoch), token, milliseconds(wait))

    def failures(self, add: int) -> int:
        """Count winners that failed in a row and return their number; `add` 0 resets it. Forgotten after an hour."""
        key = f"{self.prefix}failures"
        if not add:
            self.redis.delete(key)
            return 0
        count: Any = self.redis.incrby(key, add)
        self.redis.expire(key, timedelta(hours=1))
        return int(count)

    def config(self) -> bytes:
        """Return the configuration that `configure` stored, b'' before that."""
        stored: Any = self.redis.hget(f"{self.prefix}meta", "config")
        return stored or b""

    def extent(self) -> tuple[bytes, bool, tuple[int, ...]]:
        """Return the configuration, whether an intent is open, and the slots that have load balancers."""
        with self.redis.pipeline(transaction=True) as pipe:
            pipe.hmget(f"{self.prefix}meta", "config", "intent")
            pipe.hkeys(f"{self.prefix}slots")
            (config, intent), slots = pipe.execute()
        return config or b"", bool(intent), tuple(map(int, slots))

    def ask_recheck(self) -> None:
        """Make the pool's next run list its load balancers again: one of them seems to be gone."""
        self.redis.set(f"{self.prefix}recheck", 1)

    def must_recheck(self) -> bool:
        """Tell whether a recheck was requested. Answers True once a request."""
        return bool(self.redis.getdel(f"{self.prefix}recheck"))

    def adopt(self, slot: int) -> str | None:
        """Open an intent for a load balancer outside the ledger. Returns the epoch to ask at, None if that cannot be
        now.
        """
        status, *rest = self.ledger.call("adopt_load_balancer", INCARNATION, secrets.token_hex(8), slot)
        return rest[0].decode() if status == b"OK" else None

    def missing(self, name: str, entry: Entry) -> bool:
        """Forget an entry's listener, which AWS no longer has. False: the entry has changed since."""
        return bool(self.ledger.call("forget_listener", INCARNATION, name, entry.key, entry.listener)[0] == b"OK")

    def distrust(self) -> None:
        """Mark the ledger wrong: the pool's next run rebuilds it."""
        self.ledger.call("revoke_verification", INCARNATION)

    def under_way(self) -> bool:
        """Tell whether a winner may still be creating load balancers: its key lives as long as that can take.

        The key of a failed winner contains no token any more.
        """
        epoch: Any = self.redis.hget(f"{self.prefix}meta", "epoch")
        held: Any = self.redis.get(self.key_of(epoch.decode())) if epoch else None
        return bool(held) and not held.startswith(b"-")

    def key_of(self, epoch: str) -> str:
        """Return the Redis key of the epoch's one scale-up request."""
        return f"{self.prefix}scale-up:{epoch}"

    def intent(self, epoch: str, limits: ScaleUpLimits) -> Intent | str:
        """Return the open intent; opens one if demand does not fit and the epoch is unchanged.

        Otherwise returns why not: OLD, ENOUGH, LIMIT, CLOSED.
        """
        slots = orjson.dumps(limits.slots) if limits.slots else b"[]"
        args = (secrets.token_hex(8), limits.capacity, limits.per_round, limits.most, slots)
        status, *rest = self.ledger.call("open_intent", INCARNATION, epoch, *args)
        if status != b"INTENT":
            return str(status.decode())
        intent = orjson.loads(rest[0])
        return Intent(intent["id"], int(intent["epoch"]), tuple(intent["slots"]))

    def close(self, intent: Intent, created: Sequence[PoolLoadBalancer]) -> tuple[str, ...] | None:
        """Add the load balancers, raise the epoch, end the intent. Returns the woken names; None: another intent is
        open.
        """
        status, *rest = self.ledger.call(
            "close_intent", INCARNATION, intent.id, orjson.dumps([lb.encoded() for lb in created])
        )
        return texts(rest[1]) if status == b"OK" else None

    def pressure(self, forgotten: timedelta) -> Pressure:
        """Wake the names that fit, also those that were woken `forgotten` ago and made no progress."""
        _, epoch, short, intent_open, woken = self.ledger.call(
            "sweep_waiting_list", INCARNATION, forgotten // timedelta(milliseconds=1)
        )
        return Pressure(epoch.decode(), int(short), bool(intent_open), texts(woken))

    # ---- rebuild and configuration

    def begin_rebuild(self) -> str | None:
        """Return the mark of a rebuild, None when the ledger is ready under the server's incarnation."""
        doubt(self.redis)
        mark = secrets.token_hex(8)
        return mark if self.ledger.call("begin_rebuild", INCARNATION, mark)[0] == b"OK" else None

    def stamp(self, mark: str, start: int, owners: dict[str, dict[str, Item]]) -> bool:
        """Write the owners that annotations and tags show.

        False: Redis was lost or replaced since the mark was written, or another rebuild was first.
        """
        reply = self.ledger.call("finish_rebuild", INCARNATION, mark, start, orjson.dumps(owners))
        return bool(reply[0] == b"OK")

    def configure(
        self, newest: int, epoch: str, state: str, config: dict[str, Any], span: Span, lbs: Sequence[PoolLoadBalancer]
    ) -> tuple[str, ...] | None:
        """Configure the ledger. Returns the woken names; None: the epoch has moved, read again.

        `newest`: the number of the queue's newest token, read after the last rebuild.
        """
        args = (
            newest,
            epoch,
            state,
            orjson.dumps(config),
            span.first,
            span.size,
            ",".join(map(str, span.kinds)),
            orjson.dumps([lb.encoded() for lb in lbs]),
        )
        status, *rest = self.ledger.call("configure", INCARNATION, *args)
        return texts(rest[1]) if status == b"OK" else None

    def prune_fences(self, newest: int, age: timedelta = FENCE_AGE) -> int:
        """Forget the fences of runs that began `age` before the queue's newest token, in pages. Returns their number.

        `newest`: the number of that token. Every script refuses a run of that age from then on.
        """
        cursor, pruned = b"0", 0
        while True:
            _, cursor, count = self.ledger.call(
                "prune_fences", INCARNATION, newest, cursor, age // timedelta(microseconds=1), FENCE_PAGE
            )
            pruned += int(count)
            if cursor == b"0":
                return pruned

    def drop(self) -> int:
        """Forget the pool. Returns how many owners it still has; 0: it is forgotten."""
        status, *rest = self.ledger.call("drop_pool", INCARNATION)
        return int(rest[0]) if status == b"BUSY" else 0
