"""Parses the annotation `berthmaster.dev/ports` into wants.

The text is hostile input, because a pod's author writes it. Every text is either a tuple of wants or a RequestError
that names the entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from domain.kubernetes.names import PORTS
from domain.ports.pod import LIMITS, PodView
from domain.ports.want import MOST_IN_A_ROW, Protocol, Want

MAX_ENTRIES: Final = 100
MAX_PORTS: Final = 300
"""Ports of one pod in all pools. Each is a listener, a target group and a row of an annotation."""
_ENTRY = re.compile(
    r"(?:(?P<name>[^=/@]*)=)?(?P<port>[^/@=-]*)(?:-(?P<end>[^/@=]*))?(?:/(?P<protocol>[^/@=]*))?(?:@(?P<pools>[^/@=]*))?"
)
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_POOL = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_SHAPE: Final = "[name=]PORT[-END]/PROTOCOL@POOL[+POOL...], for example game=7777/UDP@arena"


class RequestError(ValueError):
    """The annotation cannot be served as it stands; the message names the entry and what to write instead."""


@dataclass(frozen=True)
class _Entry:
    name: str
    port: int
    end: int
    protocol: Protocol
    pools: tuple[str, ...]

    def wants(self) -> Iterator[Want]:
        """The entry's want in each pool. QUIC is UDP to a load balancer."""
        carried = Protocol.UDP if self.protocol is Protocol.QUIC else self.protocol
        for pool in self.pools:
            yield Want(pool, self.port, carried, ((self.name, self.protocol),), self.end if self.end > self.port else 0)


def wants_of(pod: PodView, default: str = "") -> tuple[Want, ...]:
    """The wants of a pod that has the annotation. Raises RequestError."""
    if pod.oversize:
        raise RequestError(pod.oversize)
    return parse_ports(pod.annotations[PORTS], default)


def parse_ports(text: str, default: str = "") -> tuple[Want, ...]:
    """The wants of an annotation, in its order. An empty text means `default` (a setting). Raises RequestError."""
    source = text if text.strip() else default
    if len(source) > LIMITS[PORTS]:
        raise RequestError(f"{PORTS} has {len(source)} characters, at most {LIMITS[PORTS]} are read: shorten it")
    entries = [e.strip() for e in re.split(r"[,\n]", source) if e.strip()]
    if not entries:
        raise RequestError(
            "the ports annotation is empty and no default ports are configured (BERTHMASTER_PORTS__DEFAULT_SPEC)"
        )
    if len(entries) > MAX_ENTRIES:
        raise RequestError(f"{len(entries)} entries are too many: at most {MAX_ENTRIES} a pod")
    parsed = [_entry(number, entry) for number, entry in enumerate(entries, 1)]
    _refuse_same_names(parsed)
    wants = [want for entry in parsed for want in entry.wants()]
    refuse_too_many(wants)
    _refuse_doubles(wants)
    return tuple(_merged(wants))


def refuse_too_many(wants: Iterable[Want]) -> None:
    """Raise RequestError when the wants have more ports than one pod may have."""
    ports = sum(want.ports for want in wants)
    if ports > MAX_PORTS:
        raise RequestError(f"{ports} ports are too many: at most {MAX_PORTS} a pod, counted in every pool")


def _entry(number: int, entry: str) -> _Entry:
    where = f"entry {number} ({entry[:80]!r})"
    match = _ENTRY.fullmatch(entry)
    if not match:
        raise RequestError(f"{where} is not {_SHAPE}")
    protocol = _protocol(where, match["protocol"])
    port, pools = _port(where, "PORT", match["port"]), _pools(where, match["pools"])
    end = port if match["end"] is None else _end(where, port, match["end"])
    span = f"{port}-{end}" if end > port else f"{port}"
    name = match["name"] if match["name"] is not None else f"{span}-{protocol.lower()}"
    if not _NAME.fullmatch(name):
        raise RequestError(
            f"{where}: the name {name[:80]!r} must be lower-case letters, digits and hyphens, at most 63"
        )
    return _Entry(name, port, end, protocol, pools)


def _port(where: str, what: str, text: str) -> int:
    if not text:
        raise RequestError(f"{where}: {what} is missing")
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 1 <= int(text) <= 65535):
        raise RequestError(f"{where}: port {text[:20]!r} is not a number from 1 to 65535")
    return int(text)


def _end(where: str, port: int, text: str) -> int:
    end = _port(where, "END", text)
    if end < port:
        raise RequestError(f"{where}: the range ends at {end}, before it begins at {port}")
    if end - port >= MOST_IN_A_ROW:
        raise RequestError(
            f"{where}: {end - port + 1} ports in a row are more than the {MOST_IN_A_ROW} of a load balancer"
        )
    return end


def _protocol(where: str, text: str | None) -> Protocol:
    if not text:
        raise RequestError(f"{where}: PROTOCOL is missing, write TCP, UDP, TCPUDP, TLS or QUIC after a slash")
    if text not in Protocol.__members__:
        raise RequestError(f"{where}: protocol {text[:20]!r} is unknown, write TCP, UDP, TCPUDP, TLS or QUIC")
    return Protocol(text)


def _pools(where: str, text: str | None) -> tuple[str, ...]:
    if not text:
        raise RequestError(f"{where}: POOL is missing, write @ and the name of a PortPool")
    pools = text.split("+", MAX_PORTS)
    for pool in pools:
        if not _POOL.fullmatch(pool):
            raise RequestError(f"{where}: {pool[:80]!r} is not the name of a PortPool")
    if len(set(pools)) < len(pools):
        raise RequestError(f"{where} names a pool twice")
    return tuple(pools)


def _refuse_same_names(entries: list[_Entry]) -> None:
    names = [entry.name for entry in entries]
    if double := next((n for n in names if names.count(n) > 1), None):
        raise RequestError(f"the name {double!r} is given to two entries, name each one differently")


def _refuse_doubles(wants: list[Want]) -> None:
    requested: set[tuple[str, int, Protocol]] = set()
    for want in wants:
        parts = {Protocol.TCP, Protocol.UDP} if want.protocol is Protocol.TCPUDP else {want.protocol}
        for part in sorted(parts):
            asked = {(want.pool, port, part) for port in range(want.port, want.last + 1)}
            if double := min(asked & requested, default=None):
                raise RequestError(f"port {double[1]}/{part} of pool {want.pool} is asked for twice")
            requested |= asked


def _merged(wants: list[Want]) -> list[Want]:
    """TCP and UDP of the same numbers and pool become one TCPUDP want, as a load balancer has one listener a port."""
    merged: dict[tuple[str, int, int, bool], Want] = {}
    for want in wants:
        place = (want.pool, want.port, want.last, want.protocol is Protocol.TLS)
        same = merged.get(place)
        merged[place] = Want(want.pool, want.port, Protocol.TCPUDP, same.names + want.names, want.end) if same else want
    return list(merged.values())
