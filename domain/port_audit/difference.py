"""One difference between the ledger, the cloud and the pods, and its remedy. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from domain.ports.entry import Entry


class DifferenceKind(StrEnum):
    """An orphan exists and nobody needs it; what is missing should exist."""

    ORPHAN = "orphan"
    MISSING = "missing"
    FOREIGN = "foreign"
    COLLISION = "collision"
    STALE_TARGET = "stale_target"
    MISSING_TARGET = "missing_target"
    LOST_TAGS = "lost_tags"


class Remedy(StrEnum):
    """What a repair does. People read the values."""

    NONE = "somebody must decide"
    RETAG = "restore the tags"
    REBIND = "make the listener again"
    DEREGISTER = "deregister the target"
    COMPARE = "let its pod's run compare the targets"
    RESTOCK = "make the precreated listener again"
    REMOVE = "delete it"
    DISCARD = "delete the target group"
    CLOSE = "delete the listener"
    ADOPT = "adopt it"
    RECHECK = "list the load balancers again"
    RUN = "run the pod again"
    REBUILD = "rebuild the ledger"

    @property
    def patient(self) -> bool:
        """Whether two audits, a grace apart, must find it: a run may be between its call and its record."""
        return self in (Remedy.REMOVE, Remedy.DISCARD, Remedy.CLOSE, Remedy.DEREGISTER, Remedy.RUN)


@dataclass(frozen=True, order=True)
class Difference:
    """`port` 0 stands for the load balancer itself, `owner` is a pod's namespace/name or '' for none.

    `tags` are those to restore, `target` is the ip:port that is registered, or should be.
    """

    pool: str
    lb: str
    port: int
    kind: DifferenceKind
    owner: str
    detail: str
    remedy: Remedy
    arn: str = ""
    entry: Entry | None = field(default=None, compare=False)
    tags: Mapping[str, str] = field(default_factory=dict, compare=False)
    target: str = ""

    @property
    def id(self) -> str:
        """The same in every audit that finds this difference."""
        return f"{self.kind}|{self.lb}:{self.port}|{self.owner}|{self.arn}|{self.target}"
