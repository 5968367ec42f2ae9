"""One port of one load balancer in the hands of one pod: the ledger's unit, and its states.

allocated -> bound -> releasing -> (free). Releasing is never taken back: a delete of the cloud may be on its way.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class EntryState(StrEnum):
    ALLOCATED = "allocated"
    BOUND = "bound"
    RELEASING = "releasing"


@dataclass(frozen=True, order=True)
class Entry:
    """`want` names the request (see Want.key), `target` is the registered `ip:port` or ''; ARNs are '' until known."""

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

    @property
    def key(self) -> str:
        """Its name within the pool's ledger, for example `bm-1f2e-0:30001`."""
        return f"{self.lb}:{self.port}"

    @property
    def id(self) -> tuple[str, str, int]:
        return self.pool, self.lb, self.port
