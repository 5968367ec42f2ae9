"""When may a sweep send a hint again? Two keys, hints and sweeps in one queue, first in, first out.

By its age nobody can tell a lost hint from one that waits in a backlog. A sweep is a message in the same queue: when it
comes, every message that was sent before it has come as well, and a key whose hint is older and that nobody has taken
has lost it. Faults, `faults` in a run: a message is lost, or comes twice, or a worker stands still with it.

Shows: messages of a key, and sweeps, are at most one more than faults; and when nothing more happens no key has a hint
that is not taken. Times are numbered anew in every state. A flag that is False is a rule taken away.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore

FLOOD, PILE = "more messages of a key than one and the faults", "more sweeps than one and the faults"
KEYS = (0, 1)
SWEEP = -1


class Flags(NamedTuple):
    marks: int = 3
    sweeps: int = 3
    faults: int = 2
    same_queue: bool = True  # sweeps go through the queue of the hints; False: they come at once
    older: bool = True  # only a hint older than the sweep is sent again; False: that of every key not taken
    single: bool = True  # one sweep is outstanding


class Item(NamedTuple):
    key: int  # or SWEEP
    sent: int


class S(NamedTuple):
    marks: int
    sweeps: int
    faults: int
    hints: tuple[int, ...] = (0, 0)  # when the key's hint was sent, 0: the key is clean
    queue: tuple[Item, ...] = ()
    held: tuple[Item, ...] = ()  # by a worker that stands still
    now: int = 1

    def items(self) -> tuple[Item, ...]:
        return self.queue + self.held


Edge = tuple[str, str, S]


def step(flags: Flags, s: S) -> Iterator[Edge]:
    for edges in (marks(s), sweeps(flags, s), works(flags, s)):
        for kind, label, after in edges:
            yield kind, label, renumbered(after)


def marks(s: S) -> Iterator[Edge]:
    for key in KEYS if s.marks else ():
        if not s.hints[key]:
            yield ENV, f"key {key} is marked", send(s._replace(marks=s.marks - 1), key)


def sweeps(flags: Flags, s: S) -> Iterator[Edge]:
    if flags.single and any(item.key == SWEEP for item in s.items()):
        return
    waiting = {item.key for item in s.items()}
    lost = any(hint and key not in waiting for key, hint in enumerate(s.hints))
    for kind, left in ((ENV, s.sweeps), (SYS, lost)):
        if left:
            less = s._replace(sweeps=s.sweeps - (kind == ENV))
            sent = less._replace(queue=(*s.queue, Item(SWEEP, s.now)), now=s.now + 1)
            yield kind, "a sweep is sent", sent if flags.same_queue else sweep(flags, less, s.now)


def works(flags: Flags, s: S) -> Iterator[Edge]:
    if s.queue:
        first, rest = s.queue[0], s._replace(queue=s.queue[1:])
        name = "a sweep" if first.key == SWEEP else f"the hint of key {first.key}"
        yield SYS, f"a worker has {name}", use(flags, rest, first)
        if s.faults:
            less = rest._replace(faults=s.faults - 1)
            yield ENV, f"{name} is lost", less
            yield ENV, f"a worker stands still with {name}", less._replace(held=(*s.held, first))
            yield ENV, f"{name} comes twice", less._replace(queue=(*s.queue, first))
    for at, item in enumerate(s.held):
        rest = s._replace(held=s.held[:at] + s.held[at + 1 :])
        yield SYS, "the worker goes on", use(flags, rest, item)


def use(flags: Flags, s: S, item: Item) -> S:
    return sweep(flags, s, item.sent) if item.key == SWEEP else hinted(s, item.key, 0)


def hinted(s: S, key: int, sent: int) -> S:
    return s._replace(hints=(*s.hints[:key], sent, *s.hints[key + 1 :]))


def send(s: S, key: int) -> S:
    return hinted(s, key, s.now)._replace(queue=(*s.queue, Item(key, s.now)), now=s.now + 1)


def sweep(flags: Flags, s: S, sent: int) -> S:
    for key in KEYS:
        if s.hints[key] and (s.hints[key] < sent or not flags.older):
            s = send(s, key)
    return s


def renumbered(s: S) -> S:
    used = sorted({0, *s.hints, *(item.sent for item in s.items())})
    new = {time: n for n, time in enumerate(used)}
    queue, held = (tuple(Item(item.key, new[item.sent]) for item in items) for items in (s.queue, s.held))
    return s._replace(hints=tuple(new[hint] for hint in s.hints), queue=queue, held=held, now=len(used))


def few(flags: Flags, keys: tuple[int, ...], s: S) -> bool:
    sent = [item.key for item in s.items()]
    return all(sent.count(key) <= 1 + flags.faults - s.faults for key in keys)


def settled(s: S) -> bool:
    return not any(s.hints) and not s.items()


def check(flags: Flags) -> Result:
    rules = {FLOOD: partial(few, flags, KEYS), PILE: partial(few, flags, (SWEEP,))}
    return explore(S(flags.marks, flags.sweeps, flags.faults), partial(step, flags), rules, settled)
