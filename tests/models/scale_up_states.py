"""Owners, load balancers, keys and workers of the model of scale-up."""

from __future__ import annotations

from typing import NamedTuple

BUDGET = ("death", "slow", "message", "leave", "removal", "loss")
Cloud = tuple[tuple[int, int, bool], ...]  # slot, ARN, tagged retiring


class Bounds(NamedTuple):
    owners: int = 3
    capacity: int = 2
    most: int = 2  # maxLoadBalancers
    batch: int = 2  # maxPerRound
    existing: int = 0
    sweeps: bool = True
    deaths: int = 1
    slow: int = 1
    messages: int = 0
    leaves: int = 0
    removals: int = 0
    losses: int = 0


class Owner(NamedTuple):
    state: str  # dirty | waits | woken | idle (on no list) | holds | gone | gone on the list
    slot: int = -1
    arn: int = 0


class LoadBalancer(NamedTuple):
    slot: int
    state: str  # active | retiring
    arn: int


class Intent(NamedTuple):
    epoch: int
    slots: tuple[int, ...]


NO_INTENT = Intent(-1, ())


class Key(NamedTuple):
    epoch: int
    state: str  # held | dead: its winner died | left: its winner has ended


class Worker(NamedTuple):
    at: str
    epoch: int = -1
    intent: Intent = NO_INTENT
    done: int = 0  # slots of the intent
    current: bool = True  # Redis was not lost since it began
    slot: int = -1  # of a removal
    arn: int = 0
    listing: Cloud = ()  # of a rebuild


class S(NamedTuple):
    owners: tuple[Owner, ...]
    inside: tuple[LoadBalancer, ...]  # the ledger
    cloud: Cloud
    left: tuple[int, ...]  # of each fault, as in BUDGET
    epoch: int = 0
    keys: tuple[Key, ...] = ()
    intent: Intent = NO_INTENT
    requests: tuple[int, ...] = ()  # epochs at which load balancers are asked for
    workers: tuple[Worker | None, ...] = (None, None)
    ready: bool = True
    over: bool = False  # somebody decided to create more than the demand needs

    def may(self, fault: str) -> bool:
        return self.left[BUDGET.index(fault)] > 0

    def less(self, fault: str) -> S:
        return self._replace(left=tuple(n - (name == fault) for name, n in zip(BUDGET, self.left, strict=True)))


def put(s: S, at: int, worker: Worker | None) -> S:
    return s._replace(workers=(*s.workers[:at], worker, *s.workers[at + 1 :]))
