"""What a run of a pod can be told to do. Values; the worker executes them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from domain.ports.entry import Entry
from domain.ports.pod import Outputs
from domain.ports.want import Want


@dataclass(frozen=True)
class Clear:
    """Take an entry out of the pod's outputs, conditionally on the version read, before it is released."""

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
    """Target group, listener and, if `target` (ip:port) is not '', the registered target; then record."""

    entry: Entry
    target: str


@dataclass(frozen=True)
class Retain:
    """Take every target off an entry whose pod is gone, and keep its port and listener for the next pod of the name."""

    entry: Entry


@dataclass(frozen=True)
class Inherit:
    """Take over entries of one pool from pods of the name that are gone; their tags are written when they are bound."""

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
    """Ask the cloud for the health of the entry's target."""

    entry: Entry


@dataclass(frozen=True)
class Confirm:
    """A fenced script of this run records the entries bound."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Show:
    """Write the outputs on the pod, conditionally on the version read."""

    outputs: Outputs


@dataclass(frozen=True)
class Stop:
    """The end of the run; `after` is when to look again without an event, None = settled.

    `counted`: the next wait of the same kind is longer.
    """

    after: timedelta | None
    reason: str
    counted: bool = False


Step = (
    Clear
    | Release
    | LeaveWaitingList
    | Allocate
    | AllocateSamePort
    | Rollback
    | Provision
    | Disable
    | CheckHealth
    | Retain
    | Inherit
    | Relabel
    | Confirm
    | Show
    | Stop
)
