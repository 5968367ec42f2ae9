"""Listeners that exist before any pod: which a pool has, which are still to be made, which must be looked at.

One script a method, but `gaps` and `stop`, which only say what to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from berthmaster.redis.incarnation import INCARNATION
from workers.stores.ports.codec import texts
from workers.stores.ports.ledger import Ledger


@dataclass(frozen=True)
class Gap:
    """A load balancer on which so many listeners are still to be made, and its ports that have none."""

    lb: str
    arn: str
    missing: int
    ports: tuple[int, ...]
    position: int


class Stock:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._redis, self._prefix = ledger, ledger.redis, ledger.prefix

    def gaps(self) -> list[Gap]:
        """In the order of the load balancers. Not one moment with anything else."""
        coming: Any = self._redis.hgetall(f"{self._prefix}coming")
        names = [name.decode() for name in coming]
        fields = [letter + name for name in names for letter in ("j:", "a:")]
        rows: Any = self._redis.hmget(f"{self._prefix}lbs", fields) if fields else []
        gaps = [
            _gap(name, int(coming[name.encode()]), orjson.loads(facts), orjson.loads(ports))
            for name, facts, ports in zip(names, rows[::2], rows[1::2], strict=True)
            if facts and ports
        ]
        return sorted(gaps, key=lambda gap: (gap.position, gap.lb))

    def stop(self, lb: str) -> None:
        """No more listeners are made there before the pool is configured again."""
        self._redis.hdel(f"{self._prefix}coming", lb)

    def find(self, key: str) -> tuple[str, str]:
        """Listener and target group of `lb:port`, '' and '' when it is not in stock."""
        row: Any = self._redis.hget(f"{self._prefix}stock", key)
        listener, _, group = row.decode().partition(" ") if row else ("", "", "")
        return listener, group

    def all(self) -> dict[str, tuple[str, str]]:
        """`lb:port` -> listener and target group."""
        rows: Any = self._redis.hgetall(f"{self._prefix}stock")
        split = {key.decode(): row.decode().partition(" ") for key, row in rows.items()}
        return {key: (listener, group) for key, (listener, _, group) in split.items()}

    def carriers(self) -> set[str]:
        """Load balancers with listeners in stock."""
        return {key.rpartition(":")[0] for key in self.all()}

    def put(self, key: str, listener: str, target_group: str) -> tuple[str, ...]:
        """The names that were woken."""
        status, *rest = self._ledger.call("stock", INCARNATION, key, listener, target_group)
        return texts(rest[0]) if status == b"OK" else ()

    def lost(self, key: str, listener: str) -> bool:
        """AWS does not have that listener any more. False: it is not in stock either."""
        return bool(self._ledger.call("unstock", INCARNATION, key, listener)[0] == b"OK")

    def comparison_request(self, key: str) -> str:
        """The wish to compare that stands, '' for none."""
        stored: Any = self._redis.hget(f"{self._prefix}compare", key)
        return stored.decode() if stored else ""

    def compare(self, key: str) -> None:
        """Whoever owns the port, now or next, looks at what AWS has registered for it."""
        self._ledger.call("compare", INCARNATION, key)


def _gap(name: str, missing: int, facts: dict[str, Any], ports: Any) -> Gap:
    return Gap(name, facts["arn"], missing, tuple(sorted(ports or ())), facts["position"])
