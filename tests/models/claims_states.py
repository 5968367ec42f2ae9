"""The states of the model of claims."""

from __future__ import annotations

from typing import NamedTuple

LIVE, LOST, GONE = 2, 1, 0


class P(NamedTuple):
    """`by`: UID of the claim on its label; `used`: of the one that named it since it last drained."""

    ex: int = LIVE
    phase: str = "I"
    by: str = ""
    used: str = ""


class C(NamedTuple):
    """`life` 2 lives, 1 is being deleted, 0 is gone; `uid` changes when it is made again. `renewed`: not recorded."""

    uid: str
    life: int = 2
    pod: int | None = None
    src: int | None = None
    marked: bool = False
    expired: bool = False
    renewed: bool = False


class W(NamedTuple):
    """What a worker is about to write: to pod `i` or to claim `c`, as it read them."""

    c: int
    uid: str
    action: str
    i: int
    pod_fresh: bool = True
    claim_fresh: bool = True
    late: bool = False


class S(NamedTuple):
    pods: tuple[P, ...]
    claims: tuple[C, ...] = (C("A1"), C("B1"))
    work: tuple[W | None, ...] = (None, None)
    faults: int = 1
    moves: tuple[int, ...] = (0, 0)
    expiries: int = 0
    renewals: int = 0
    wrong: str = ""
