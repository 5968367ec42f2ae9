"""Who ends a target that nobody recorded: the audit that finds it, or, at its wish, a run of the pod?

One port of one pod, whose address changes and comes back (`want`). A run registers the address, deregisters the one in
the ledger, records. It may die anywhere; its next call may be on the wire then, and be applied at any later time. The
audit reads the ledger, asks AWS, reads the ledger again, and judges if it still says the same. What differs it either
mends itself (`direct`: deregisters, once it has seen it twice), or it wishes a comparison and the next run does it:
that asks AWS, registers its address, deregisters every other, records, and ends the wish that it saw.

Shows: by the run, whatever was left behind ends, and no run loses what it has registered. Direct, a run loses it:
also with a grace that outlasts every run that was there at the first look, because an address that a dead run left
may be the one that the next run registers. The wish is needed, and must be the one that the run has seen: a later one
may tell of a call that came after the run asked AWS.

A run may also be paused beyond its lease and go on later, beside its heir (`pauses`). Its calls land then, and its
record is refused. Shows: if it wishes a comparison at that (`tells`), the port ends right without any audit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore

WISHES = 3  # numbers go in a circle: a new one is made only when a run has seen the last


class Flags(NamedTuple):
    moves: int = 2
    faults: int = 1
    audit: bool = True
    direct: bool = False
    seen_wish: bool = True  # a run ends only the wish that it saw before it asked AWS
    pauses: int = 0
    tells: bool = True  # a run whose record is refused wishes a comparison


class Run(NamedTuple):
    at: str = "idle"  # idle | taken | asked | registered | deregistered
    goal: int = 0
    base: int = 0  # what the ledger said when it began
    wish: int = 0
    there: frozenset[int] = frozenset()  # what AWS said, if it was asked


class Look(NamedTuple):
    at: str = "idle"  # idle | before | asked
    before: int = 0
    there: frozenset[int] = frozenset()


class S(NamedTuple):
    moves: int
    faults: int
    pauses: int = 0
    want: int = 1
    aws: frozenset[int] = frozenset({1})
    ledger: int = 1
    dirty: bool = False
    run: Run = Run()
    paused: Run = Run()  # it has lost its lease
    late: frozenset[tuple[str, int]] = frozenset()  # calls on the wire whose caller is dead
    look: Look = Look()
    wish: int = 0
    number: int = 0  # of the last wish
    ripe: frozenset[tuple[int, bool]] = frozenset()  # direct: strays, and whether all runs of then have ended
    looks: int = 2  # audits before nothing new can be found; what happens to AWS or ledger starts them anew
    taken: bool = False  # the audit took what a living run had registered


def check(flags: Flags) -> Result:
    return explore(
        S(flags.moves, flags.faults, flags.pauses), lambda s: step(s, flags), {"taken": lambda s: not s.taken}, settled
    )


def settled(s: S) -> bool:
    return s.aws == {s.ledger} and s.ledger == s.want


def step(s: S, flags: Flags) -> Iterator[tuple[str, str, S]]:
    for kind, label, after in (*environment(s), *running(s, flags), *going_on(s, flags)):
        changed = (after.aws, after.ledger) != (s.aws, s.ledger)
        yield kind, label, after._replace(looks=2) if changed and flags.audit else after
    if flags.audit:
        yield from looking(s, flags)


def environment(s: S) -> Iterator[tuple[str, str, S]]:
    if s.moves:
        yield ENV, "the pod moves", s._replace(moves=s.moves - 1, want=3 - s.want, dirty=True)
    if s.pauses and s.run.at != "idle" and s.paused.at == "idle":
        yield (
            ENV,
            "the run pauses, its lease ends",
            s._replace(pauses=s.pauses - 1, run=Run(), paused=s.run, dirty=True),
        )
    if s.faults and s.run.at != "idle":
        dead = over(s._replace(faults=s.faults - 1, run=Run(), dirty=True))
        yield ENV, "the run dies", dead
        if s.run.at in ("taken", "asked"):
            yield ENV, "the run dies, its register on the wire", dead._replace(late=s.late | {("+", s.run.goal)})
        if s.run.at == "registered" and s.run.base != s.run.goal:
            yield ENV, "the run dies, its deregister on the wire", dead._replace(late=s.late | {("-", s.run.base)})
    for sign, address in s.late:
        aws = s.aws | {address} if sign == "+" else s.aws - {address}
        yield ENV, f"a late call: {sign}{address}", s._replace(late=s.late - {(sign, address)}, aws=aws)


def over(s: S) -> S:
    return s._replace(ripe=frozenset((address, True) for address, _ in s.ripe))


def running(s: S, flags: Flags) -> Iterator[tuple[str, str, S]]:
    run = s.run
    if run.at == "idle" and s.dirty:
        yield SYS, "a run begins", s._replace(run=Run("taken", s.want, s.ledger, s.wish), dirty=False)
    elif run.at == "taken" and run.wish:
        yield SYS, "it asks AWS", s._replace(run=run._replace(at="asked", there=s.aws))
    elif run.at in ("taken", "asked", "registered"):
        label, aws, after = called(s.aws, run)
        yield SYS, label, s._replace(aws=aws, run=after)
    elif run.at == "deregistered":
        served = s.wish == run.wish if flags.seen_wish else True
        wish = 0 if run.wish and served else s.wish
        yield (
            SYS,
            f"it records {run.goal}",
            over(s._replace(ledger=run.goal, run=Run(), wish=wish, dirty=s.dirty or wish != 0)),
        )


def called(aws: frozenset[int], run: Run) -> tuple[str, frozenset[int], Run]:
    """The run's next call that changes what AWS has."""
    if run.at == "registered":
        others = (run.there if run.wish else {run.base}) - {run.goal}
        return f"it deregisters {sorted(others)}", aws - others, run._replace(at="deregistered")
    known = run.goal == run.base and not run.wish
    return f"it registers {run.goal}", aws if known else aws | {run.goal}, run._replace(at="registered")


def going_on(s: S, flags: Flags) -> Iterator[tuple[str, str, S]]:
    """The paused run, beside its heir. It asks AWS nothing more: what it would read is newer than what it knows."""
    if s.paused.at in ("taken", "asked", "registered"):
        label, aws, after = called(s.aws, s.paused)
        yield SYS, f"late, {label}", s._replace(aws=aws, paused=after)
    elif s.paused.at == "deregistered":
        s = s._replace(paused=Run())
        yield SYS, "its record is refused", wished(s) if flags.tells else s


def wished(s: S) -> S:
    number = s.wish if s.wish and s.wish != s.run.wish else s.number % WISHES + 1
    return s._replace(wish=number, number=number, dirty=True)


def looking(s: S, flags: Flags) -> Iterator[tuple[str, str, S]]:
    look = s.look
    if look.at == "idle" and s.looks:
        yield SYS, "an audit begins", s._replace(look=Look("before", s.ledger), looks=s.looks - 1)
    elif look.at == "before":
        yield SYS, "the audit asks AWS", s._replace(look=look._replace(at="asked", there=s.aws))
    elif look.at == "asked":
        yield SYS, "the audit judges", judged(s._replace(look=Look()), look, flags)


def judged(s: S, look: Look, flags: Flags) -> S:
    if s.ledger != look.before or look.there == {look.before}:
        return s
    if not flags.direct:
        return wished(s)
    strays, known = look.there - {look.before}, dict(s.ripe)
    gone = {address for address in strays if known.get(address)}
    registered = s.run.at in ("registered", "deregistered") and s.run.goal in gone and s.run.goal != s.run.base
    ripe = frozenset((address, known.get(address, s.run.at == "idle")) for address in strays - gone)
    lost = look.before not in look.there
    after = s._replace(aws=s.aws - gone, ripe=ripe, taken=s.taken or registered)
    return after._replace(ledger=0, dirty=True) if lost else after
