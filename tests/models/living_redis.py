"""A Redis that lives on under another incarnation: connections of before still name the old one.

Two workers know the server as they last read it, and read it again at any time. A run of the first grants a port, makes
its listener, records it and publishes it. Either rebuilds the ledger of a server that is not the stamp's: begin, list,
stamp. The server changes, and keeps its data.

Rule: an open ledger has the port that is published.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore


class Flags(NamedTuple):
    """`shut`: a rebuild closes the ledger when it begins. `anew`: it reads the server first, and so closes none that
    was rebuilt already; the rule holds without that.
    """

    shut: bool = True
    anew: bool = True


class Ledger(NamedTuple):
    """`inc` None: closed. `serial` is that of the last stamp, which a run carries; `mark` says whose rebuild left it,
    and under which server.
    """

    inc: int | None = 0
    serial: int = 0
    has: bool = False
    mark: tuple[int, int] | None = None


class Worker(NamedTuple):
    """`rebuild`: where it is in one: '' none, read, begun, listed; `saw`: the port was in the listing."""

    knows: int = 0
    rebuild: str = ""
    saw: bool = False
    rebuilds: int = 1


class S(NamedTuple):
    server: int = 0
    ledger: Ledger = Ledger()
    workers: tuple[Worker, Worker] = (Worker(), Worker())
    run: str = ""  # '' before, then opened, granted, made, recorded, ended
    serial: int = -1
    listener: bool = False
    published: bool = False
    changes: int = 2


Out = Iterator[tuple[str, str, S]]
NEXT = {"opened": "granted", "made": "recorded"}


def put(s: S, n: int, worker: Worker) -> S:
    return s._replace(workers=(worker, s.workers[1]) if n == 0 else (s.workers[0], worker))


def step(flags: Flags, s: S) -> Out:
    if s.changes:
        yield ENV, "the server changes", s._replace(server=s.server + 1, changes=s.changes - 1)
    for n, worker in enumerate(s.workers):
        if worker.knows != s.server:
            yield ENV, f"{n} reads the server", put(s, n, worker._replace(knows=s.server))
        yield from rebuilding(flags, s, n, worker)
    yield from running(s)


def running(s: S) -> Out:
    passes = s.ledger.inc == s.workers[0].knows
    if s.run == "" and passes:
        yield ENV, "a run opens the ledger", s._replace(run="opened", serial=s.ledger.serial)
    elif s.run in NEXT:
        if not passes or s.serial != s.ledger.serial:
            yield SYS, "the run is refused", s._replace(run="ended")
            return
        ledger = s.ledger._replace(has=True) if s.run == "opened" else s.ledger
        yield SYS, f"the run has {NEXT[s.run]}", s._replace(run=NEXT[s.run], ledger=ledger)
    elif s.run == "granted":
        yield SYS, "the run makes the listener", s._replace(run="made", listener=True)
    elif s.run == "recorded":
        yield SYS, "the run publishes", s._replace(run="ended", published=True)


def rebuilding(flags: Flags, s: S, n: int, worker: Worker) -> Out:
    if worker.rebuild == "" and worker.rebuilds:
        begun = worker._replace(knows=s.server) if flags.anew else worker
        yield ENV, f"{n} wants to rebuild", put(s, n, begun._replace(rebuild="read", rebuilds=worker.rebuilds - 1))
    elif worker.rebuild == "read":
        yield SYS, f"{n} begins", begin(flags, s, n, worker)
    elif worker.rebuild == "begun":
        yield SYS, f"{n} lists", put(s, n, worker._replace(rebuild="listed", saw=s.listener))
    elif worker.rebuild == "listed":
        yield SYS, f"{n} stamps", stamp(s, n, worker)


def begin(flags: Flags, s: S, n: int, worker: Worker) -> S:
    """The script `rebuild`."""
    if s.ledger.inc == worker.knows:
        return put(s, n, worker._replace(rebuild=""))
    ledger = s.ledger._replace(mark=(n, worker.knows), inc=None if flags.shut else s.ledger.inc)
    return put(s._replace(ledger=ledger), n, worker._replace(rebuild="begun"))


def stamp(s: S, n: int, worker: Worker) -> S:
    """The script of that name: all that was there is written anew, the mark with it."""
    over = put(s, n, worker._replace(rebuild="", saw=False))
    if s.ledger.inc == worker.knows or s.ledger.mark != (n, worker.knows):
        return over
    return over._replace(ledger=Ledger(worker.knows, s.ledger.serial + 1, worker.saw))


def kept(s: S) -> bool:
    return s.ledger.inc is None or s.ledger.has or not s.published


def check(flags: Flags) -> Result:
    return explore(S(), partial(step, flags), {"kept": kept}, lambda _: True)
