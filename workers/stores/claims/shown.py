"""What the statuses of claims say to people, for pages that read Redis alone. Runs write it with the phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson
from redis import Redis

from berthmaster.jobs.unreadable import readable, texts, typed

STATUSES: Final = "berthmaster:claim-statuses"
"""Key of a hash: namespace/name of a claim -> what its status says, as JSON."""
OF_CONDITION: Final = ("type", "status", "reason", "message")
OF_ENDPOINT: Final = ("name", "address", "protocol", "status")


@dataclass(frozen=True)
class ShownClaim:
    """What the status of a claim says.

    Attributes:
        conditions: type, status, reason and message of each.
        endpoints: name, address (host:port), protocol and status of each.
        pod: the pod that the claim has, '' for none; `node` and `ips` are the pod's.
        expires: when it does, by the clock of Kubernetes; '' for never.
        claim_set: UID of its set, '' for none.

    """

    conditions: tuple[tuple[str, ...], ...] = ()
    endpoints: tuple[tuple[str, ...], ...] = ()
    pod: str = ""
    node: str = ""
    ips: tuple[str, ...] = ()
    expires: str = ""
    claim_set: str = ""


class StatusRecord(NamedTuple):
    """What Redis keeps of a status: its phase, and the rest as JSON."""

    phase: str
    rest: bytes


def record_of(status: Mapping[str, Any], claim_set: str = "") -> StatusRecord:
    """Return what Redis keeps of a status. `claim_set`: UID of the claim's set, '' for none."""
    rest = orjson.dumps(
        [
            [[entry.get(name, "") for name in OF_CONDITION] for entry in status.get("conditions") or ()],
            [[entry.get(name, "") for name in OF_ENDPOINT] for entry in status.get("endpoints") or ()],
            status.get("podName") or "",
            status.get("nodeName") or "",
            status.get("podIPs") or (),
            status.get("expiryTime") or "",
            claim_set,
        ]
    )
    return StatusRecord(status["phase"], rest)


def shown_claims(redis: Redis, names: Sequence[str]) -> list[ShownClaim]:
    """Return what the statuses of these claims (namespace/name) say; nothing of a claim that no run has written yet.

    Raises UnreadableLedger.
    """
    stored: Any = redis.hmget(STATUSES, list(names)) if names else []
    with readable():
        return [_decoded(orjson.loads(text)) if text else ShownClaim() for text in stored]


def all_shown(redis: Redis) -> dict[str, ShownClaim]:
    """Return what the statuses of all claims say, by namespace/name. Raises UnreadableLedger."""
    stored: Any = redis.hgetall(STATUSES)
    with readable():
        return {name.decode(): _decoded(orjson.loads(text)) for name, text in stored.items()}


def _decoded(stored: Any) -> ShownClaim:
    conditions, endpoints, pod, node, ips, expires, claim_set = stored
    return ShownClaim(
        _rows(conditions, OF_CONDITION),
        _rows(endpoints, OF_ENDPOINT),
        typed(pod, str),
        typed(node, str),
        texts(ips),
        typed(expires, str),
        typed(claim_set, str),
    )


def _rows(stored: Any, columns: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Raises ValueError for a row that has not one text a column."""
    return tuple(tuple(text for text, _ in zip(texts(row), columns, strict=True)) for row in typed(stored, list))
