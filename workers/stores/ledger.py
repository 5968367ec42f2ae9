"""The ledger of one pool: which ports are taken and by whom. Every method is one script, one step of Redis.

A run opens the ledger first; everything that it does then carries its name, its token and the incarnation under which
it began, and is refused when any of them is no longer the newest (StaleToken) or the ledger must be rebuilt (NotReady).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson
from redis import Redis

from domain.errors import StaleToken, TransientError
from domain.ports.entry import Entry
from domain.ports.placement import Ordering
from events.incarnation import INCARNATION
from events.workqueue.scripts import Script
from workers.stores.ledger_codec import encode_item, entries_of, texts

LUA: Final = Path(__file__).parent / "lua"
PAGE: Final = 8
HEADS: Final = {"ledger": ("ledger_head", "bits_head"), "waiting": ("ledger_head", "bits_head", "waiting_head")}
SCRIPTS: Final = {
    **dict.fromkeys(
        ("open", "record", "releasing", "confirm", "give_way", "foreign", "orphan", "adopt", "missing", "prune_fences"),
        "ledger",
    ),
    **dict.fromkeys(
        ("allocate", "free", "leave", "wake", "intent", "close", "rebuild", "stamp", "configure", "drop", "unwin"),
        "waiting",
    ),
}


class NotReady(TransientError):  # noqa: N818 - an expected wait, said in the scripts' own word
    """The ledger was not verified under the Redis process that answers: it must be rebuilt first."""


class EntryChanged(StaleToken):
    """The entry is no longer what this run saw: another run, a rebuild or the sweep came between."""


def load_scripts(redis: Redis) -> dict[str, Script]:
    """Every script of the ledger behind its heads. Reads files, so call it once a process."""
    heads = {
        kind: "".join((LUA / f"{part}.lua").read_text(encoding="utf-8") for part in parts)
        for kind, parts in HEADS.items()
    }
    return {name: Script(redis, name, LUA, heads[kind]) for name, kind in SCRIPTS.items()}


@dataclass(frozen=True)
class Carrier:
    """A load balancer as a run needs it."""

    arn: str
    dns: str


@dataclass(frozen=True)
class Granted:
    """Every entry of the owner, old and new, and the load balancers that carry them."""

    entries: tuple[Entry, ...]
    carriers: dict[str, Carrier]


@dataclass(frozen=True)
class Full:
    """Nothing was taken; the owner is on the waiting list. `epoch` is the capacity that was seen."""

    epoch: str


@dataclass(frozen=True)
class Closed:
    """The pool gives no ports: it is not Active."""


class PoolRun:
    """One run's access to one pool: its name, token and incarnation go with every script."""

    def __init__(self, ledger: Ledger, name: str, token: str, reply: Sequence[Any]) -> None:
        self.ledger, self.name, self.token = ledger, name, token
        inc, epoch, state, config, held, waits, *lbs = reply
        self.incarnation, self.epoch, self.state = inc.decode(), epoch.decode(), state.decode()
        self.config: bytes = config
        self.carriers = _carriers(lbs)
        self.entries, self.waits = entries_of(ledger.pool, held), bool(waits)

    def allocate(self, uid: str, wants: Sequence[tuple[str, int]], order: Ordering) -> Granted | Full | Closed:
        """All wants (key, consecutive ports) or none."""
        page = PAGE
        while True:
            candidates = self.ledger.candidates(order, page)
            reply = self._script(
                "allocate", uid, orjson.dumps(wants), orjson.dumps(candidates), int(len(candidates) == page)
            )
            if reply[0] != b"MORE":
                break
            page *= 8
        if reply[0] == b"FULL":
            return Full(reply[1].decode())
        return (
            Closed() if reply[0] == b"CLOSED" else Granted(entries_of(self.ledger.pool, reply[1]), _carriers(reply[2:]))
        )

    def record(self, uid: str, entries: Sequence[Entry]) -> None:
        """Writes state, ARNs and target of each entry. Raises EntryChanged when one is not this uid's any more."""
        self._checked("record", uid, orjson.dumps({e.key: encode_item(e) for e in entries}))

    def releasing(self, entry: Entry) -> None:
        self._checked("releasing", entry.uid, entry.key, entry.listener, entry.target_group)

    def free(self, entry: Entry) -> tuple[str, ...]:
        """Returns the names that were woken."""
        return texts(self._checked("free", entry.uid, entry.key)[1:])

    def confirm(self, entry: Entry) -> None:
        self._checked("confirm", entry.uid, entry.key)

    def give_way(self, entry: Entry, name: str, uid: str, want: str, listener: str, target_group: str) -> None:
        self._checked("give_way", entry.uid, entry.key, name, uid, want, listener, target_group)

    def foreign(self, entry: Entry) -> None:
        self._checked("foreign", entry.uid, entry.key)

    def leave(self) -> tuple[str, ...]:
        return texts(self._script("leave")[1:])

    def _checked(self, script: str, *args: Any) -> list[bytes]:
        reply = self._script(script, *args)
        if reply[0] == b"CHANGED":
            raise EntryChanged(
                f"{script} of {args[1] if len(args) > 1 else self.name} in pool {self.ledger.pool} came too late"
            )
        return reply

    def _script(self, script: str, *args: Any) -> list[Any]:
        reply = self.ledger.call(script, INCARNATION, self.incarnation, self.name, self.token, *args)
        if reply[0] == b"STALE":
            raise StaleToken(f"a newer run has opened {self.name} in pool {self.ledger.pool}")
        return reply


class Ledger:
    """The ledger of `pool`. Cheap to make: the scripts are shared."""

    def __init__(self, redis: Redis, scripts: dict[str, Script], pool: str) -> None:
        self.redis, self.pool, self.prefix, self._scripts = redis, pool, f"{{pp:{pool}}}", scripts

    def call(self, script: str, *args: Any) -> list[Any]:
        """The script's reply. Raises NotReady, whatever the script."""
        reply: list[Any] = self._scripts[script]([self.prefix], args)
        if reply[0] == b"NOT_READY":
            raise NotReady(f"the ledger of pool {self.pool} is not ready")
        return reply

    def open(self, name: str, token: str) -> PoolRun:
        """Raises NotReady, or StaleToken when a run with a newer token was here."""
        status, *rest = self.call("open", INCARNATION, name, token)
        if status == b"LOW":
            raise StaleToken(f"a newer run has opened {name} in pool {self.pool}")
        return PoolRun(self, name, token, rest)

    def candidates(self, order: Ordering, most: int) -> list[str]:
        """Load balancers with room, best first, at most so many."""
        if order is Ordering.SHUFFLED:
            found: Any = self.redis.zrandmember(f"{self.prefix}{Ordering.USED.value}", most)
        else:
            found = self.redis.zrange(f"{self.prefix}{order.value}", 0, most - 1)
        return [name.decode() for name in found or ()]

    def orphan(self, name: str, uid: str, key: str, listener: str, target_group: str) -> bool:
        """Takes a free port as releasing for the owner in an orphan's tag. False: the port has an owner."""
        return bool(self.call("orphan", INCARNATION, name, uid, key, listener, target_group)[0] == b"OK")


def _carriers(flat: Sequence[bytes]) -> dict[str, Carrier]:
    rows = ((name.decode(), orjson.loads(json)) for name, json in zip(flat[::2], flat[1::2], strict=True) if json)
    return {name: Carrier(known["arn"], known["dns"]) for name, known in rows}


Opener = Callable[[str], Ledger]
