"""The addresses of pods. No two pods have the same address, whether they started before the kubelet or after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import ip_network
from itertools import cycle
from threading import Lock
from typing import Final

NETWORKS: Final = {"IPv4": "10.244.0.0/16", "IPv6": "fd00:10:244::/112"}


class AddressPool:
    """A pool of addresses that threads may share."""

    def __init__(self) -> None:
        self.lock, self.taken = Lock(), set[str]()
        self.next: dict[str, Iterator[str]] = {family: cycle(hosts(family)) for family in NETWORKS}

    def take(self, families: Sequence[str]) -> list[str]:
        """Take one address of each family."""
        with self.lock:
            return [self.draw(family) for family in families]

    def draw(self, family: str) -> str:
        """Take an address that no pod has. The caller holds the lock."""
        address = next(ip for ip in self.next[family] if ip not in self.taken)
        self.taken.add(address)
        return address

    def note(self, addresses: Sequence[str]) -> None:
        """Note addresses that are in use already."""
        with self.lock:
            self.taken.update(addresses)

    def give_back(self, addresses: Sequence[str]) -> None:
        """Free the addresses of a deleted pod."""
        with self.lock:
            self.taken.difference_update(addresses)


def hosts(family: str) -> Iterator[str]:
    """Return the addresses of a family, in order."""
    return (str(ip) for ip in ip_network(NETWORKS[family]).hosts())
