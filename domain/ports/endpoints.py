"""The result that we publish on a pod: the annotation `berthmaster.dev/endpoints`, JSON.

What is read back is hostile input, for a pod's author can write it, and it decides which ports a rebuild gives to the
pod: a text that we would not have written counts as nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from domain.ports.entry import Entry
from domain.ports.pod import is_ipv4
from domain.ports.request import Want

MOST_ROWS: Final = 1000
_TEXTS: Final = ("pool", "loadBalancer", "name", "protocol", "host", "target")
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")


@dataclass(frozen=True, order=True)
class Shown:
    """One published endpoint. `target` is what was registered when it was published, '' for nothing."""

    pool: str
    lb: str
    port: int
    container_port: int
    name: str = ""
    protocol: str = ""
    host: str = ""
    target: str = ""

    @property
    def id(self) -> tuple[str, str, int]:
        return self.pool, self.lb, self.port


def endpoints(wants: Iterable[Want], entries: Iterable[Entry], dns_names: Mapping[str, str]) -> str:
    """One object an entry of the annotation, in its order; wants without an entry are left out.

    `dns_names`: load balancer -> DNS name.
    """
    held = {(e.pool, e.want): e for e in entries}
    return _text(
        _row(name, protocol.value, want.port, entry, dns_names.get(entry.lb, ""))
        for want in wants
        if (entry := held.get((want.pool, want.key)))
        for name, protocol in want.names
    )


def amended(text: str, entries: Iterable[Entry]) -> str:
    """A published result without what is not among `entries`, and with what is registered for them now."""
    held = {e.id: e for e in entries}
    return _text(
        _row(row.name, row.protocol, row.container_port, held[row.id], row.host)
        for row in shown(text)
        if row.id in held
    )


def _text(rows: Iterable[dict[str, Any]]) -> str:
    written = list(rows)
    return json.dumps(written, separators=(",", ":")) if written else ""


def _row(name: str, protocol: str, container_port: int, entry: Entry, host: str) -> dict[str, Any]:
    return {
        "name": name,
        "containerPort": container_port,
        "protocol": protocol,
        "pool": entry.pool,
        "loadBalancer": entry.lb,
        "host": host,
        "port": entry.port,
        "endPort": entry.port,
        "address": f"{host}:{entry.port}",
        "target": entry.target,
        "status": "Ready" if entry.target else "NotReady",
    }


def shown(text: str) -> tuple[Shown, ...]:
    """The endpoints of a published result, in its order. Total: what is not ours is empty."""
    try:
        rows = json.loads(text) if text else []
    except (ValueError, RecursionError):
        return ()
    if not isinstance(rows, list) or len(rows) > MOST_ROWS:
        return ()
    read = [_shown(row) for row in rows]
    return tuple(row for row in read if row) if all(read) else ()


def _shown(row: Any) -> Shown | None:
    if not isinstance(row, dict):
        return None
    pool, lb, name, protocol, host, target = (row.get(key, "") for key in _TEXTS)
    port, container = row.get("port"), row.get("containerPort")
    if not all(isinstance(text, str) and text.isascii() for text in (pool, lb, name, protocol, host, target)):
        return None
    if not (_is_port(port) and _is_port(container)) or not _are_names(pool, lb, target):
        return None
    return Shown(pool, lb, port, container, name, protocol, host, target)


def _are_names(pool: str, lb: str, target: str) -> bool:
    return bool(pool and _NAME.fullmatch(lb) and (target == "" or _is_target(target)))


def _is_port(value: Any) -> TypeGuard[int]:
    return type(value) is int and 1 <= value <= 65535


def _is_target(text: str) -> bool:
    ip, _, port = text.rpartition(":")
    return is_ipv4(ip) and port.isdigit() and _is_port(int(port[:6]))


def published(text: str) -> set[tuple[str, str, int]]:
    """(pool, load balancer, port) of a published result."""
    return {row.id for row in shown(text)}
