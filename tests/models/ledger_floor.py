"""Which runs may open a ledger that was rebuilt: those whose token is newer than the rebuild, whatever TIME does.

One key, two workers. A run takes a token: the last one and 1, or TIME if that is more. A rebuild lists the world,
stamps the ledger, and configures it; the ledger opens with the configuration, and refuses runs below its floor. Audits
forget the fences of runs that are older than `AGE`, and raise the floor to that age. Faults: TIME is set back or
forward, Redis is lost at any moment (the queue's tokens stay), a process dies between two steps of a rebuild and
another one begins where it ended.

Shows: no run that took its token before the stamp opens the ledger, for what it knows may be from before the list; and
a run that begins when the ledger is open is never refused. A flag that is False is a part of rule `newest` taken away.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore

OLD, REFUSED = "a run from before the stamp opens the ledger", "a new run is refused"
JUMP = 3
AGE = 2


class Flags(NamedTuple):
    queue: bool = True  # the floor is above the newest token of the queue; False: it is TIME
    after: bool = True  # that is read after the stamp; False: before it
    first: bool = True  # the configuration sets the floor; False: an audit may have set it before
    losses: int = 2
    jumps: int = 2
    runs: int = 3


class Run(NamedTuple):
    token: int = 0  # 0: none
    old: bool = False  # the ledger was stamped since it took its token


class S(NamedTuple):
    losses: int
    jumps: int
    left: int
    time: int = 1
    last: int = 0  # the newest token
    ledger: str = "lost"  # lost | read | stamped | open
    read: int = 0  # the floor, as the rebuild read it
    floor: int = 0  # 0: none
    runs: tuple[Run, ...] = (Run(), Run())
    opened_old: bool = False


Edge = tuple[str, str, S]


def put(s: S, at: int, run: Run) -> S:
    return s._replace(runs=(*s.runs[:at], run, *s.runs[at + 1 :]))


def step(s: S, f: Flags) -> Iterator[Edge]:
    for jump in (-JUMP, JUMP) if s.jumps else ():
        yield ENV, f"TIME is set by {jump}", s._replace(time=max(1, s.time + jump), jumps=s.jumps - 1)
    if s.losses and s.ledger != "lost":
        yield ENV, "Redis is lost", s._replace(losses=s.losses - 1, ledger="lost", read=0, floor=0)
    yield from rebuild(s, f)
    for at, run in enumerate(s.runs):
        if run.token:
            accepted = s.ledger == "open" and run.token >= s.floor
            label = f"{at} opens the ledger" if accepted else f"{at} is refused"
            yield SYS, label, put(s, at, Run())._replace(opened_old=s.opened_old or (accepted and run.old))
        elif s.left:
            token = max(s.last + 1, s.time)
            taken = s._replace(last=token, time=max(s.time, token), left=s.left - 1)
            yield ENV, f"{at} takes token {token}", put(taken, at, Run(token))


def rebuild(s: S, f: Flags) -> Iterator[Edge]:
    newest = s.last + 1 if f.queue else s.time
    if s.ledger == "lost":
        yield SYS, "a rebuild lists the world", s._replace(ledger="read", read=newest)
    elif s.ledger == "read":
        runs = tuple(run._replace(old=run.token > 0) for run in s.runs)
        yield SYS, "the ledger is stamped", s._replace(ledger="stamped", runs=runs)
    elif s.ledger == "stamped":
        floor = newest if f.after else s.read
        yield SYS, "the ledger is configured", s._replace(ledger="open", floor=s.floor or floor)
    if s.ledger == "open" or (s.ledger == "stamped" and not f.first):
        yield ENV, "an audit forgets fences", s._replace(floor=max(1, s.floor, newest - AGE))


def new_runs_are_accepted(s: S) -> bool:
    return s.ledger != "open" or s.floor <= max(s.last + 1, s.time)


def settled(s: S) -> bool:
    return s.ledger == "open" and not any(run.token for run in s.runs)


def check(flags: Flags) -> Result:
    rules = {OLD: lambda s: not s.opened_old, REFUSED: new_runs_are_accepted}
    return explore(S(flags.losses, flags.jumps, flags.runs), lambda s: step(s, flags), rules, settled)
