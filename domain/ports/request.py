"""What a pod asks for: the grammar of the annotation `berthmaster.dev/ports`, parsed to wants.

The text is hostile input: a pod's author writes it. Every input is either a tuple of wants or a RequestError that names
the entry.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

MAX_ENTRIES = 100
_ENTRY = re.compile(
    r"(?:(?P<name>[^=/@]*)=)?(?P<port>[^/@=-]*)(?:-(?P<end>[^/@=]*))?(?:/(?P<protocol>[^/@=]*))?(?:@(?P<pools>[^/@=]*))?"
)
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_POOL = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")


class Protocol(StrEnum):
    """The words of the annotation; `aws` below gives the listener's."""

    TCP = "TCP"
    UDP = "UDP"
    TCPUDP = "TCPUDP"
    TLS = "TLS"
    QUIC = "QUIC"


class RequestError(ValueError):
    """The annotation cannot be served as it stands; the message names the entry and what to write instead."""


@dataclass(frozen=True, order=True)
class Want:
    """One port of one pool for one container port.

    `names` are the entries that it serves: TCP and UDP of one number share a want.
    """

    pool: str
    port: int
    protocol: Protocol
    names: tuple[tuple[str, Protocol], ...]

    @property
    def key(self) -> str:
        """What identifies the want within its pod and pool, for example `7777/UDP`."""
        return f"{self.port}/{self.protocol}"


def container_port(key: str) -> int | None:
    """The port in a want's key. None for a text that is no key: a rebuild reads keys from tags."""
    port, _, protocol = key.partition("/")
    known = protocol in Protocol.__members__ and port.isascii() and port.isdigit() and len(port) <= 5
    return int(port) if known and 1 <= int(port) <= 65535 else None


def parse_ports(text: str, default: str = "") -> tuple[Want, ...]:
    """The wants of an annotation, in its order. An empty text means `default` (a setting). Raises RequestError."""
    source = text if text.strip() else default
    entries = [e.strip() for e in re.split(r"[,\n]", source) if e.strip()]
    if not entries:
        raise RequestError(
            "the ports annotation is empty and no default ports are configured (BERTHMASTER_PORTS__DEFAULT_SPEC)"
        )
    if len(entries) > MAX_ENTRIES:
        raise RequestError(f"{len(entries)} entries are too many: at most {MAX_ENTRIES} a pod")
    wants = [_want(n, entry) for n, entry in enumerate(entries, 1)]
    _refuse_doubles(wants)
    return tuple(_merged(wants))


def _want(number: int, entry: str) -> Want:
    where = f"entry {number} ({entry[:80]!r})"
    match = _ENTRY.fullmatch(entry)
    if not match:
        raise RequestError(f"{where} is not [name=]PORT/PROTOCOL@POOL, for example game=7777/UDP@arena")
    protocol = _protocol(where, match["protocol"])
    port, pool = _port(where, match["port"]), _pool(where, match["pools"])
    if match["end"] is not None:
        raise RequestError(f"{where}: port ranges are not supported yet, write one entry a port")
    name = match["name"] if match["name"] is not None else f"{port}-{protocol.lower()}"
    if not _NAME.fullmatch(name):
        raise RequestError(
            f"{where}: the name {name[:80]!r} must be lower-case letters, digits and hyphens, at most 63"
        )
    return Want(pool, port, protocol, ((name, protocol),))


def _port(where: str, text: str) -> int:
    if not text:
        raise RequestError(f"{where}: PORT is missing")
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 1 <= int(text) <= 65535):
        raise RequestError(f"{where}: port {text[:20]!r} is not a number from 1 to 65535")
    return int(text)


def _protocol(where: str, text: str | None) -> Protocol:
    if not text:
        raise RequestError(f"{where}: PROTOCOL is missing, write TCP, UDP or TCPUDP after a slash")
    if text not in Protocol.__members__:
        raise RequestError(f"{where}: protocol {text[:20]!r} is unknown, write TCP, UDP or TCPUDP")
    protocol = Protocol(text)
    if protocol in (Protocol.TLS, Protocol.QUIC):
        raise RequestError(f"{where}: {protocol} is not supported yet, write TCP, UDP or TCPUDP")
    return protocol


def _pool(where: str, text: str | None) -> str:
    if not text:
        raise RequestError(f"{where}: POOL is missing, write @ and the name of a PortPool")
    if "+" in text:
        raise RequestError(f"{where}: several pools for one entry are not supported yet, write one entry a pool")
    if not _POOL.fullmatch(text):
        raise RequestError(f"{where}: {text[:80]!r} is not the name of a PortPool")
    return text


def _refuse_doubles(wants: list[Want]) -> None:
    names = [name for want in wants for name, _ in want.names]
    if double := next((n for n in names if names.count(n) > 1), None):
        raise RequestError(f"the name {double!r} is given to two entries, name each one differently")
    seen: set[tuple[str, int, Protocol]] = set()
    for want in wants:
        parts = {Protocol.TCP, Protocol.UDP} if want.protocol is Protocol.TCPUDP else {want.protocol}
        for part in parts:
            if (want.pool, want.port, part) in seen:
                raise RequestError(f"port {want.port}/{part} of pool {want.pool} is asked for twice")
            seen.add((want.pool, want.port, part))


def _merged(wants: list[Want]) -> list[Want]:
    """TCP and UDP of one number and pool become one TCPUDP want: an NLB has one listener a port number."""
    merged: dict[tuple[str, int], Want] = {}
    for want in wants:
        same = merged.get((want.pool, want.port))
        merged[want.pool, want.port] = (
            Want(want.pool, want.port, Protocol.TCPUDP, same.names + want.names) if same else want
        )
    return list(merged.values())
