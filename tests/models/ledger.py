"""Port ledger, listeners and pods with UIDs: allocate, bind, release, recreate, retain.

Two names of pods, two ports on one load balancer, two workers that run the program of port_run.py; between any two
steps anything else may happen. A worker's lease ends while it is only slow, and it goes on later; a worker dies at any
step; pods are deleted, recreated under their name, opt out and in. No messages: a run may start whenever there is
something to do. A port's listener is refused while there is another, an ARN is never used twice, a target group in use
is not deleted.

Shows: no port has two live owners, by ledger or annotation; a bound, published pod keeps its listener; and when nothing
more happens every pod is served and nothing is left behind. Bounds: events, slow runs, deaths, workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore
from tests.models.port_run import PortRun
from tests.models.port_states import (
    FREE,
    GONE,
    MINE,
    NAMES,
    NOBODY,
    SWEEP,
    Entry,
    Listener,
    Pod,
    Run,
    S,
    fenced,
    name_of,
    put,
    written,
)

TWO_OWNERS, UNSERVED = "no port has two live owners", "a published, bound port has its listener"


class Bounds(NamedTuple):
    events: int = 1
    slow: int = 1
    deaths: int = 0
    workers: int = 2
    retain: bool = False  # pod a keeps its port over deletion and recreation
    bound: bool = False  # pod a has its port already
    copies: int = 1  # of Redis, in rebuild.py
    losses: int = 1


class Ledger(PortRun):
    def __init__(self, off: tuple[str, ...], bounds: Bounds) -> None:
        super().__init__(off, retain=bounds.retain)
        self.bounds = bounds

    def init(self) -> S:
        b = self.bounds
        return S(
            pods=(Pod(1, wants=True, shown=0 if b.bound else -1), Pod(11, wants=True)),
            ledger=(Entry("bound", 1) if b.bound else FREE, FREE),
            listeners=(Listener(1, 1) if b.bound else NOBODY, NOBODY),
            groups=frozenset({(1, 0)}) if b.bound else frozenset(),
            runs=(None,) * b.workers,
            events=b.events,
            slow=b.slow,
            deaths=b.deaths,
        )

    def step(self, s: S) -> Iterator[tuple[str, str, S]]:
        yield from self.events(s)
        for at, run in enumerate(s.runs):
            if run is None:
                for label, after in self.starts(s, at):
                    yield SYS, label, after
                continue
            if s.slow and run.leased:
                late = put(s, at, run._replace(leased=False))
                yield ENV, f"{NAMES[run.name]} is slow before {run.at}: its lease ends", late._replace(slow=s.slow - 1)
            if s.deaths:
                yield ENV, f"{NAMES[run.name]} dies before {run.at}", put(s, at, None)._replace(deaths=s.deaths - 1)
            yield SYS, *self.act(s, at, run)

    def events(self, s: S) -> Iterator[tuple[str, str, S]]:
        for name, pod in enumerate(s.pods) if s.events else ():
            for label, new in self.changes(name, pod):
                yield ENV, label, written(s, name, new)._replace(events=s.events - 1)

    def changes(self, name: int, pod: Pod) -> Iterator[tuple[str, Pod]]:
        if pod.uid:
            yield f"pod {pod.uid} is deleted", GONE
            yield f"pod {pod.uid} opts {'out' if pod.wants else 'in'}", pod._replace(wants=not pod.wants)
            if pod.uid == 1:
                yield "pod 1 is deleted and recreated as 2", Pod(2, wants=True)
        elif self.retain and name == 0:
            yield "pod 3 is created", Pod(3, wants=True)

    def starts(self, s: S, at: int) -> Iterator[tuple[str, S]]:
        for name in range(len(s.pods)):
            held = any(r and r.name == name and r.leased for r in s.runs)
            if not held and self.decide(s, name, self.view(s, name)[0], s.ledger)[0]:
                yield f"a run of {NAMES[name]} starts", self.started(s, at, name)
        for port, there in enumerate(s.listeners):
            run = Run("sweep", SWEEP, there.tag, port=port, arn=there.arn, tag=there.tag, leased=False)
            orphan = there.tag and s.ledger[port].uid != there.tag and run not in s.runs
            if orphan and (s.ledger[port] == FREE or not self.on("sweepclaim")):
                yield f"the sweep sees the orphan {there.tag} at {port}", put(s, at, run)
        for uid, port in s.groups:
            if s.ledger[port].uid != uid and s.listeners[port].tag != uid:
                yield f"the sweep deletes a target group of {uid}", s._replace(groups=s.groups - {(uid, port)})

    def started(self, s: S, at: int, name: int) -> S:
        every = range(len(s.runs)) if self.on("open") else ()
        return put(fenced(s, name, every), at, Run("read", name))

    def owners(self, s: S, port: int, there: Entry) -> int:
        shown = {pod.uid for pod in s.pods if pod.uid and pod.shown == port}
        live = there.state in MINE and any(pod.uid == there.uid for pod in s.pods)
        return len(shown | ({there.uid} if live else set()))

    def one_owner(self, s: S) -> bool:
        return all(self.owners(s, port, there) <= 1 for port, there in enumerate(s.ledger))

    def served(self, s: S) -> bool:
        return not any(
            there.state == "bound"
            and Pod(there.uid, wants=True, shown=port) in s.pods
            and s.listeners[port].tag != there.uid
            for port, there in enumerate(s.ledger)
        )

    def rules(self) -> dict[str, Callable[[S], bool]]:
        return {TWO_OWNERS: self.one_owner, UNSERVED: self.served}

    def settled(self, s: S) -> bool:
        if any(s.runs) or not all(self.right(s, name, pod) for name, pod in enumerate(s.pods)):
            return False
        kept = {(there.uid, port) for port, there in enumerate(s.ledger) if there != FREE}
        lasting = {port for port, there in enumerate(s.ledger) if there.state == "retained"}
        listed = {(there.tag, port) for port, there in enumerate(s.listeners) if there.tag}
        return all((uid, port) in kept or (port in lasting and name_of(uid) == 0) for uid, port in listed | s.groups)

    def right(self, s: S, name: int, pod: Pod) -> bool:
        own = [port for port, there in enumerate(s.ledger) if there != FREE and name_of(there.uid) == name]
        if not pod.wants:
            promised = self.retain and name == 0
            return pod.shown < 0 and all(promised and s.ledger[port].state == "retained" for port in own)
        if len(own) != 1 or s.ledger[own[0]] != Entry("bound", pod.uid):
            return False
        return pod.shown == own[0] and s.listeners[own[0]].tag == pod.uid


def explored(model: Ledger) -> Result:
    return explore(model.init(), model.step, model.rules(), model.settled)


def check(bounds: Bounds, *off: str) -> Result:
    """Explore the ledger without the rules that are `off`."""
    return explored(Ledger(off, bounds))
