"""The result that we publish on a pod: the annotation `berthmaster.dev/endpoints`, JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from domain.ports.entry import Entry
from domain.ports.request import Want


def endpoints(wants: Iterable[Want], entries: Iterable[Entry], dns_names: Mapping[str, str]) -> str:
    """One object an entry of the annotation, in its order. `dns_names`: load balancer -> DNS name. Wants without an entry are left out."""
    held = {(e.pool, e.want): e for e in entries}
    rows = [
        _row(name, protocol.value, want, entry, dns_names.get(entry.lb, ""))
        for want in wants
        if (entry := held.get((want.pool, want.key)))
        for name, protocol in want.names
    ]
    return json.dumps(rows, separators=(",", ":")) if rows else ""


def _row(name: str, protocol: str, want: Want, entry: Entry, host: str) -> dict[str, Any]:
    return {
        "name": name,
        "containerPort": want.port,
        "protocol": protocol,
        "pool": entry.pool,
        "loadBalancer": entry.lb,
        "host": host,
        "port": entry.port,
        "endPort": entry.port,
        "address": f"{host}:{entry.port}",
        "status": "Ready",
    }


@dataclass(frozen=True, order=True)
class Shown:
    """One published endpoint, as far as it matters for ownership."""

    pool: str
    lb: str
    port: int
    container_port: int


def shown(text: str) -> tuple[Shown, ...]:
    """The endpoints of a published result. Total: what is not ours is empty."""
    try:
        rows = json.loads(text) if text else []
        return tuple(sorted({Shown(str(r["pool"]), str(r["loadBalancer"]), int(r["port"]), int(r["containerPort"])) for r in rows}))
    except (ValueError, TypeError, KeyError):
        return ()


def published(text: str) -> set[tuple[str, str, int]]:
    """(pool, load balancer, port) of a published result."""
    return {(s.pool, s.lb, s.port) for s in shown(text)}
