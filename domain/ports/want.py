"""A want: one port, or several in a row, of one pool for a pod's container ports; and the keys that name its parts.

A key is written into the ledger and into tags, so it is read back as hostile input.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MOST_IN_A_ROW: Final = 50
"""Ports in a row lie on one load balancer, and that carries so many."""
_KEY: Final = re.compile(r"([1-9][0-9]{0,4})(?:-([1-9][0-9]{0,4}))?/([A-Z]+)(?:\+(0|[1-9][0-9]?))?")


class Protocol(StrEnum):
    """The words of the annotation. A want has no QUIC: that is UDP to a load balancer."""

    TCP = "TCP"
    UDP = "UDP"
    TCPUDP = "TCPUDP"
    TLS = "TLS"
    QUIC = "QUIC"


@dataclass(frozen=True, order=True)
class Want:
    """Ports of one pool for the container ports `port` to `end` (0 = just one).

    `names` are the entries that it serves, with the words of each: TCP and UDP of one number share a want.
    """

    pool: str
    port: int
    protocol: Protocol
    names: tuple[tuple[str, Protocol], ...]
    end: int = 0

    @property
    def last(self) -> int:
        return max(self.port, self.end)

    @property
    def ports(self) -> int:
        return self.last - self.port + 1

    @property
    def key(self) -> str:
        """What identifies the want within its pod and pool: `7777/UDP`, or `10000-10009/UDP` for a run of ports."""
        return f"{self.port}/{self.protocol}" if self.ports == 1 else f"{self.port}-{self.end}/{self.protocol}"

    @property
    def keys(self) -> tuple[str, ...]:
        """What its entries say that they serve: the key, or `10000-10009/UDP+0` to `+9` for a run."""
        return (self.key,) if self.ports == 1 else tuple(f"{self.key}+{n}" for n in range(self.ports))

    def key_of(self, container_port: int) -> str:
        """The key of the entry for that container port, '' when it is not one of this want."""
        at = container_port - self.port
        return self.keys[at] if 0 <= at < self.ports else ""


@dataclass(frozen=True)
class EntryKey:
    """What the key of an entry says: of which want, for which container port."""

    want: str
    port: int
    protocol: Protocol


def parse_entry_key(key: str) -> EntryKey | None:
    """None for a text that is no key of an entry: a rebuild reads keys from tags."""
    found = _KEY.fullmatch(key)
    if not found or found[3] not in Protocol.__members__:
        return None
    first, last = int(found[1]), int(found[2] or found[1])
    port = first + int(found[4] or 0)
    whole = (found[2] is None) == (found[4] is None) and (found[2] is None or first < last < first + MOST_IN_A_ROW)
    return EntryKey(key.partition("+")[0], port, Protocol(found[3])) if whole and port <= last <= 65535 else None


def container_port(key: str) -> int | None:
    """The container port of an entry's key, None for a text that is none."""
    part = parse_entry_key(key)
    return part.port if part else None
