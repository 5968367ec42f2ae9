"""A want: one port, or a range of ports, of one pool for a pod's container ports; and the keys of its entries.

Keys are written into the ledger and into tags, where anybody may edit them, so what is read back is hostile input.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from domain.port_pools.providers import MOST_LISTENERS

MOST_IN_A_ROW: Final = MOST_LISTENERS
"""The longest range. Its ports lie on one load balancer, and none carries more."""
_KEY: Final = re.compile(r"([1-9][0-9]{0,4})(?:-([1-9][0-9]{0,4}))?/([A-Z]+)(?:\+(0|[1-9][0-9]?))?")


class Protocol(StrEnum):
    """The protocols of the annotation. A want never has QUIC, which is UDP to a load balancer."""

    TCP = "TCP"
    UDP = "UDP"
    TCPUDP = "TCPUDP"
    TLS = "TLS"
    QUIC = "QUIC"


@dataclass(frozen=True, order=True)
class Want:
    """Ports of one pool for the container ports `port` to `end` (0 = just one).

    `names` are the annotation's entries that it serves, each with its protocol: TCP and UDP of one port share a want.
    """

    pool: str
    port: int
    protocol: Protocol
    names: tuple[tuple[str, Protocol], ...]
    end: int = 0

    @property
    def last(self) -> int:
        """The last container port."""
        return max(self.port, self.end)

    @property
    def ports(self) -> int:
        """How many ports."""
        return self.last - self.port + 1

    @property
    def key(self) -> str:
        """The want's name within its pod and pool: `7777/UDP`, or `10000-10009/UDP` for a range."""
        return f"{self.port}/{self.protocol}" if self.ports == 1 else f"{self.port}-{self.end}/{self.protocol}"

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of its entries: its own key, or `10000-10009/UDP+0` to `+9` for a range."""
        return (self.key,) if self.ports == 1 else tuple(f"{self.key}+{n}" for n in range(self.ports))

    def key_of(self, container_port: int) -> str | None:
        """The key of the entry for a container port, None for a container port of another want."""
        index = container_port - self.port
        return self.keys[index] if 0 <= index < self.ports else None


@dataclass(frozen=True)
class EntryKey:
    """A parsed key: the want that the entry serves, and its container port."""

    want: str
    port: int
    protocol: Protocol


def parse_entry_key(key: str) -> EntryKey | None:
    """None for a text that is not the key of an entry: a rebuild reads keys from tags."""
    match = _KEY.fullmatch(key)
    if not match or match[3] not in Protocol.__members__:
        return None
    first, last = int(match[1]), int(match[2] or match[1])
    port = first + int(match[4] or 0)
    is_range, has_offset = match[2] is not None, match[4] is not None
    complete = is_range == has_offset and (not is_range or first < last < first + MOST_IN_A_ROW)
    return EntryKey(key.partition("+")[0], port, Protocol(match[3])) if complete and port <= last <= 65535 else None


def container_port(key: str) -> int | None:
    """The container port of an entry's key, None for a text that is not a key."""
    parsed = parse_entry_key(key)
    return parsed.port if parsed else None
