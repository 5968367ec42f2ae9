"""One port of one load balancer that belongs to one pod: the ledger's unit, and its states.

allocated -> bound -> releasing -> (free). Releasing is never taken back, because a cloud call that deletes the listener
may be on its way. bound -> retained -> bound, or retained -> releasing, where the port waits for the next pod of its
owner's name.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class EntryState(StrEnum):
    """The states of an entry."""

    ALLOCATED = "allocated"
    BOUND = "bound"
    RELEASING = "releasing"
    RETAINED = "retained"


@dataclass(frozen=True, order=True)
class Entry:
    """`want` is the key of the request (see Want.key), `target` the registered `ip:port` or ''. Unknown ARNs are ''."""

    pool: str
    lb: str
    port: int
    want: str
    uid: str
    state: EntryState
    listener: str = ""
    target_group: str = ""
    target: str = ""
    token: str = ""  # of the run that allocated it
    tried: tuple[str, ...] = ()  # of a precreated port: addresses that calls may have registered since
    retain: int = 0  # seconds for which it waits for the next pod of the name once this one is gone
    until: int = 0  # ms of Redis's clock at which a retained one is released; 0: it is to be handed over, or emptied

    @property
    def key(self) -> str:
        """The entry's name within the pool's ledger, for example `bm-1f2e-0:30001`."""
        return f"{self.lb}:{self.port}"

    @property
    def id(self) -> tuple[str, str, int]:
        """Pool, load balancer and port."""
        return self.pool, self.lb, self.port
