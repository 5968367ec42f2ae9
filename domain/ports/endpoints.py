"""The result that we publish on a pod: the annotation `berthmaster.dev/endpoints`, JSON.

What is read back is hostile input: a pod's author can write it, and it decides which ports a rebuild gives to the pod.
So a text that we would not have written counts as empty.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from berthmaster.names import is_name
from domain.ports.entry import Entry
from domain.ports.holding import EntryId, by_key
from domain.ports.pod import family_of
from domain.ports.target import address_of, target_text
from domain.ports.want import MOST_IN_A_ROW, Want

MOST_PORTS: Final = 1000
_TEXTS: Final = ("pool", "loadBalancer", "name", "protocol", "host", "target")
_DIGITS: Final = re.compile(r"[1-9][0-9]{0,4}")
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")


@dataclass(frozen=True, order=True)
class Endpoint:
    """One published endpoint: a range of `ports` from `port` on, for as many container ports from `container_port` on.

    `target` is what was registered for the first port when it was published, '' for nothing.
    """

    pool: str
    lb: str
    port: int
    container_port: int
    name: str = ""
    protocol: str = ""
    host: str = ""
    target: str = ""
    ports: int = 1

    @property
    def end_port(self) -> int:
        """The last port of the range."""
        return self.port + self.ports - 1

    def port_by_port(self) -> Iterator[Endpoint]:
        """The same as endpoints of one port."""
        for n in range(self.ports):
            target = _shift_port(self.target, n)
            place = (self.pool, self.lb, self.port + n, self.container_port + n)
            yield Endpoint(*place, self.name, self.protocol, self.host, target)

    @property
    def ids(self) -> list[EntryId]:
        """The id of each port."""
        return [(self.pool, self.lb, self.port + n) for n in range(self.ports)]


def _shift_port(target: str, ports: int) -> str:
    """The target whose port is higher by `ports`."""
    host, _, port = target.rpartition(":")
    return f"{host}:{int(port) + ports}" if target else ""


def format_endpoints(wants: Iterable[Want], entries: Iterable[Entry], dns_names: Mapping[str, str]) -> str | None:
    """One object for each entry of the annotation and pool, in their order, without wants that have no entries.

    `dns_names`: load balancer -> DNS name.
    """
    held = by_key(entries)
    rows = list[dict[str, Any]]()
    for want in wants:
        serving = [entry for key in want.keys for entry in held.get((want.pool, key), ())]
        for name, protocol in want.names:
            for port_range in _ranges(serving):
                first = want.port + want.keys.index(port_range[0].want)
                host = dns_names.get(port_range[0].lb, "")
                rows.append(_row(name, protocol.value, first, port_range, host))
    return _to_json(rows)


def amend_endpoints(text: str | None, entries: Iterable[Entry]) -> str | None:
    """A published result without ports that are not among `entries`, and with the targets that these have now.

    A range that lost some of its ports, or whose targets differ for a while, becomes several rows.
    """
    held = {entry.id: entry for entry in entries}
    return _to_json(
        _row(row.name, row.protocol, row.container_port + port_range[0].port - row.port, port_range, row.host)
        for row in parse_endpoints(text)
        for port_range in _ranges([held[entry_id] for entry_id in row.ids if entry_id in held])
    )


def _ranges(entries: Iterable[Entry]) -> list[list[Entry]]:
    """The entries, cut where one has not the next port, with the next target, of the entry before it."""
    ranges = list[list[Entry]]()
    for entry in entries:
        if ranges and _follows(ranges[-1][-1], entry):
            ranges[-1].append(entry)
        else:
            ranges.append([entry])
    return ranges


def _follows(before: Entry, entry: Entry) -> bool:
    return (entry.lb, entry.port, entry.target) == (before.lb, before.port + 1, _shift_port(before.target, 1))


def _to_json(rows: Iterable[dict[str, Any]]) -> str | None:
    endpoints = list(rows)
    return json.dumps(endpoints, separators=(",", ":")) if endpoints else None


def _row(name: str, protocol: str, container_port: int, port_range: Sequence[Entry], host: str) -> dict[str, Any]:
    first = port_range[0]
    return {
        "name": name,
        "containerPort": container_port,
        "protocol": protocol,
        "pool": first.pool,
        "loadBalancer": first.lb,
        "host": host,
        "port": first.port,
        "endPort": port_range[-1].port,
        "address": f"{host}:{first.port}",
        "target": first.target,
        "status": "Ready" if first.target else "NotReady",
    }


def parse_endpoints(text: str | None) -> tuple[Endpoint, ...]:
    """The endpoints of a published result, in its order. Total: a text that is not ours has none."""
    try:
        rows = json.loads(text) if text else []
    except (ValueError, RecursionError):
        return ()
    if not isinstance(rows, list) or len(rows) > MOST_PORTS:
        return ()
    endpoints = [endpoint for endpoint in map(_parse_row, rows) if endpoint]
    valid = len(endpoints) == len(rows) and sum(endpoint.ports for endpoint in endpoints) <= MOST_PORTS
    return tuple(endpoints) if valid else ()


def _parse_row(row: Any) -> Endpoint | None:
    if not isinstance(row, dict):
        return None
    pool, lb, name, protocol, host, target = (row.get(key, "") for key in _TEXTS)
    port, container = row.get("port"), row.get("containerPort")
    if not all(isinstance(text, str) and text.isascii() for text in (pool, lb, name, protocol, host, target)):
        return None
    if not (_is_port(port) and _is_port(container)) or not _are_names(pool, lb, target):
        return None
    ports = _port_count(port, row.get("endPort", port), container, target)
    return Endpoint(pool, lb, port, container, name, protocol, host, target, ports) if ports else None


def _port_count(port: int, end: Any, container: int, target: str) -> int:
    """How many ports a row has, 0 for a row that we would not have written."""
    more = end - port if _is_port(end) else -1
    last = max(container, int(target.rpartition(":")[2] or 1)) + more
    return more + 1 if 0 <= more < MOST_IN_A_ROW and _is_port(last) else 0


def _are_names(pool: str, lb: str, target: str) -> bool:
    return bool(is_name(pool) and _NAME.fullmatch(lb) and (target == "" or _is_target(target)))


def _is_port(value: Any) -> TypeGuard[int]:
    return type(value) is int and 1 <= value <= 65535


def _is_target(text: str) -> bool:
    if not _DIGITS.fullmatch(text.rpartition(":")[2]):
        return False
    ip, port = address_of(text)
    return bool(family_of(ip)) and _is_port(port) and target_text(ip, port) == text


def published_ids(text: str | None) -> set[EntryId]:
    """The ids of the ports in a published result."""
    return {entry_id for endpoint in parse_endpoints(text) for entry_id in endpoint.ids}
