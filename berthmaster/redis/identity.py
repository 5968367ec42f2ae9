"""The identity of the fleet that a Redis belongs to: the cluster's name and the UID of its namespace `kube-system`.

No other cluster has that UID. The publisher writes the identity when it assumes its epoch. Everybody else compares it
at each handshake, before the first command: two fleets on one Redis would release each other's ports.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, Self

from berthmaster.redis.unusable import UnusableRedis

KEY: Final = "{queue}meta"
FIELDS: Final = ("cluster", "system")
NO_FLEET: Final = "no fleet has claimed this Redis: is its address right, with the number of the database?"


class Identity(NamedTuple):
    """The identity of a fleet. `system`: the UID of kube-system, '' if unknown; then only the names are compared."""

    cluster: str
    system: str = ""

    @classmethod
    def stored(cls, reply: Sequence[bytes | None]) -> Self | None:
        """Return the identity from the FIELDS of KEY; None: no fleet has claimed this Redis."""
        cluster, system = reply
        return cls(cluster.decode(), (system or b"").decode()) if cluster else None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the identity from `cluster/system`; without a slash the UID is ''."""
        cluster, _, system = text.partition("/")
        return cls(cluster, system)

    def __str__(self) -> str:
        return f"{self.cluster}/{self.system}" if self.system else self.cluster

    def matches(self, other: Identity) -> bool:
        """Compare the names, and the UIDs where both are known."""
        systems = {self.system, other.system} - {""}
        return self.cluster == other.cluster and len(systems) < 2


class AnotherFleet(UnusableRedis):
    """The Redis belongs to another fleet."""

    def __init__(self, owner: Identity, own: Identity) -> None:
        super().__init__(
            f"this Redis belongs to fleet {owner}, and this process to fleet {own}: give each fleet a Redis, or a "
            "database number, of its own (BERTHMASTER_REDIS__URL), or move this one by `berthmaster adopt-redis`"
        )
        self.owner = owner
