"""Precreated listeners of a pool: the stock, the gaps in it, and the comparison requests.

Each method but `gaps` and `stop` is one script.
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
    """The precreated listeners of one port pool."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._redis, self._prefix = ledger, ledger.redis, ledger.prefix

    def gaps(self) -> list[Gap]:
        """List the load balancers that lack listeners, in their order. Other reads may be of another instant."""
        coming: Any = self._redis.hgetall(f"{self._prefix}coming")
        names = [name.decode() for name in coming]
        fields = [field + name for name in names for field in ("facts:", "absent:")]
        rows: Any = self._redis.hmget(f"{self._prefix}lbs", fields) if fields else []
        gaps = [
            _gap(name, int(coming[name.encode()]), orjson.loads(facts), orjson.loads(ports))
            for name, facts, ports in zip(names, rows[::2], rows[1::2], strict=True)
            if facts and ports
        ]
        return sorted(gaps, key=lambda gap: (gap.position, gap.lb))

    def stop(self, lb: str) -> None:
        """Create no more listeners there until the pool is configured again."""
        self._redis.hdel(f"{self._prefix}coming", lb)

    def find(self, key: str) -> tuple[str, str]:
        """Return listener and target group of `lb:port`, '' and '' when the listener is not in stock."""
        row: Any = self._redis.hget(f"{self._prefix}stock", key)
        listener, _, group = row.decode().partition(" ") if row else ("", "", "")
        return listener, group

    def all(self) -> dict[str, tuple[str, str]]:
        """Return `lb:port` -> listener and target group."""
        rows: Any = self._redis.hgetall(f"{self._prefix}stock")
        split = {key.decode(): row.decode().partition(" ") for key, row in rows.items()}
        return {key: (listener, group) for key, (listener, _, group) in split.items()}

    def carriers(self) -> set[str]:
        """Return the load balancers with listeners in stock."""
        return {key.rpartition(":")[0] for key in self.all()}

    def put(self, key: str, listener: str, target_group: str) -> tuple[str, ...]:
        """Add a listener. Returns the names of the waiters that it wakes."""
        status, *rest = self._ledger.call("add_to_stock", INCARNATION, key, listener, target_group)
        return texts(rest[0]) if status == b"OK" else ()

    def lost(self, key: str, listener: str) -> bool:
        """Remove a listener that AWS no longer has. False: it is not in stock."""
        return bool(self._ledger.call("remove_from_stock", INCARNATION, key, listener)[0] == b"OK")

    def comparison_request(self, key: str) -> str:
        """Return the open comparison request of the port, '' for none."""
        stored: Any = self._redis.hget(f"{self._prefix}compare", key)
        return stored.decode() if stored else ""

    def compare(self, key: str) -> None:
        """Request that the owner of the port, now or next, compares its targets with AWS."""
        self._ledger.call("request_comparison", INCARNATION, key)


def _gap(name: str, missing: int, facts: dict[str, Any], ports: Any) -> Gap:
    return Gap(name, facts["arn"], missing, tuple(sorted(ports or ())), facts["position"])
