"""The steps of a run for one pod. Values: the worker executes them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from domain.ports.entry import Entry
from domain.ports.pod import Outputs
from domain.ports.want import Want


@dataclass(frozen=True)
class Clear:
    """Take an entry off the pod's outputs before it is released; conditional on the version that was read."""

    entry: Entry
    outputs: Outputs


@dataclass(frozen=True)
class Release:
    """Delete what the cloud has for the entry, then free its port."""

    entry: Entry


@dataclass(frozen=True)
class LeaveWaitingList:
    """Take the name off a pool's waiting list."""

    pool: str


@dataclass(frozen=True)
class Allocate:
    """Take all wants from the pool, or wait for them."""

    pool: str
    wants: tuple[Want, ...]


@dataclass(frozen=True)
class AllocateSamePort:
    """The same first port for wants of different pools: `port`, or any if that is 0."""

    wants: tuple[Want, ...]
    port: int


@dataclass(frozen=True)
class Rollback:
    """Free an entry that this very run has allocated and for which no cloud call was made."""

    entry: Entry


@dataclass(frozen=True)
class Provision:
    """Make the cloud carry the port, with `target` (ip:port, '' = none) as the registered target; then record it."""

    entry: Entry
    target: str


@dataclass(frozen=True)
class Retain:
    """Deregister every target of an entry whose pod is gone; keep port and listener for the next pod of the name."""

    entry: Entry


@dataclass(frozen=True)
class Inherit:
    """Take over entries of one pool from gone pods of the name. Their tags are written when they are bound."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Relabel:
    """Tag and record how long the entries, all of one pool, are to be retained."""

    entries: tuple[Entry, ...]
    retain: int


@dataclass(frozen=True)
class Disable:
    """Deregister the target and keep the listener."""

    entry: Entry


@dataclass(frozen=True)
class CheckHealth:
    """Read the health of the entry's target."""

    entry: Entry


@dataclass(frozen=True)
class Confirm:
    """Record the entries as bound, by a fenced script of this run."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Show:
    """Write the outputs on the pod; conditional on the version that was read."""

    outputs: Outputs


@dataclass(frozen=True)
class Stop:
    """End the run; `after` is when to reconcile again without an event, None when it has settled.

    `counted`: the next wait of this kind is longer.
    """

    after: timedelta | None
    reason: str
    counted: bool = False


LedgerStep = Allocate | AllocateSamePort | Rollback | Inherit | LeaveWaitingList | Confirm
CloudStep = Provision | Disable | CheckHealth | Retain | Relabel | Release
StatusStep = Clear | Show
Action = LedgerStep | CloudStep | StatusStep
Step = Action | Stop
