"""Tries an allocation out: the same script looks for the ports, and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from berthmaster.redis.incarnation import INCARNATION
from domain.port_pools.placement import Ordering
from workers.stores.ports.ledger import Ledger
from workers.stores.ports.question import Ask, question_of


@dataclass(frozen=True)
class Trial:
    """What an allocation would answer: FITS, FULL, QUOTA or CLOSED.

    `places`: load balancer, first port, ports in a row.
    """

    status: str
    places: tuple[tuple[str, int, int], ...] = ()


def try_out(ledger: Ledger, namespace: str, wants: Sequence[Ask], order: Ordering, segment: int = 1) -> Trial:
    """Look where a new pod of `namespace` would get its ports now. Raises NotReady."""
    verified: Any = ledger.redis.hget(f"{ledger.prefix}meta", "incarnation")
    mark = (verified or b"").decode().rpartition("/")[2]
    question = question_of((mark, f"{namespace}/", "", ""), wants, order, segment, 0)
    status, *rest = ledger.call("allocate", INCARNATION, question, "trial")
    entries = orjson.loads(rest[0]) if rest else {}
    return Trial(status.decode(), tuple(sorted(_place(key, entry["want"]) for key, entry in entries.items())))


def _place(key: str, wants: str | list[str]) -> tuple[str, int, int]:
    lb, _, port = key.rpartition(":")
    return lb, int(port), 1 if isinstance(wants, str) else len(wants)
