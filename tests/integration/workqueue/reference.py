"""The workqueue as it was checked by exhaustive exploration: keys, ready queues and hints, plain values, no time.

A timer may end at any moment after it was set; the test says when. Histories of random steps are run on this
and on the real scripts side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from berthmaster.kinds import BY_PREFIX, CYCLE, ReadyClass
from events.workqueue import AHEAD


class Stored(NamedTuple):
    version: int
    gone: bool = False


class Key(NamedTuple):
    stored: Stored | None = None
    want: int = 0  # generation marked
    have: int = 0  # generation seen by the last accepted done
    place: str = "-"  # - nothing to do | Q ready | H held | W waits
    slow: bool = False  # ready, and nobody waits for it
    over: bool = False  # the lease or wait has ended and no sweep has seen it
    holder: int = 0
    tries: int = 0
    pools: tuple[str, ...] = ()
    echo: tuple[int, int] | None = None  # generation before the marks that came last while held, version of the last

    @property
    def dirty(self) -> bool:
        return self.want > self.have


class Run(NamedTuple):
    holder: int
    generation: int


class End(NamedTuple):
    waits: bool
    tries: int
    seen: Stored | None
    pools: tuple[str, ...] | None


def touch(key: Key, pools: tuple[str, ...] = (), *, slow: bool = False) -> tuple[Key, bool]:
    """(the key, is it ready now?), as all steps here."""
    key = key._replace(want=key.want + 1, pools=union(key.pools, pools), echo=None)
    if key.place == "H":
        return key, False
    if key.place == "Q":
        return key._replace(slow=key.slow and slow), False
    return key._replace(place="Q", over=False, slow=slow), True


def mark(key: Key, new: Stored) -> tuple[Key, bool]:
    if key.stored and new.version <= key.stored.version:
        return key, False
    marked, hint = touch(key._replace(stored=new))
    if key.place == "H" and not new.gone:
        marked = marked._replace(echo=(key.echo[0] if key.echo else key.want, new.version))
    return marked, hint


def take(key: Key, holder: int) -> tuple[Key, str]:
    if key.place == "H" and not key.over:
        return key, "held"
    if not key.dirty:
        return key, "clean"
    return key._replace(place="H", over=False, holder=holder, echo=None, slow=False), "taken"


def renew(key: Key, run: Run, pools: tuple[str, ...] | None) -> tuple[Key, bool]:
    """The second is whether the token still holds."""
    if key.holder != run.holder:
        return key, False
    return key._replace(over=False, pools=union(key.pools, pools or ())), True


def done(key: Key, run: Run, end: End) -> tuple[Key, bool, bool]:
    """(key, is it ready now?, accepted)"""
    if key.holder != run.holder:
        return *touch(key), False
    key = key._replace(holder=0, over=False, tries=end.tries, stored=_own_write(key.stored, end.seen))
    echoes = bool(end.seen and key.echo and key.echo[0] == run.generation and key.echo[1] <= end.seen.version)
    if key.want != run.generation and not echoes:
        return key._replace(place="Q", pools=union(key.pools, end.pools or ())), True, True
    pools = key.pools if end.pools is None else end.pools
    key = key._replace(have=key.want, place="W" if end.waits else "-", pools=pools, echo=None)
    if key.stored and key.stored.gone and not end.waits:
        key = key._replace(stored=None, tries=0)
    return key, False, True


def union(pools: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    """A pool is forgotten by a run that ends clean, and by nothing else."""
    return tuple(dict.fromkeys(pools + more))


def _own_write(stored: Stored | None, seen: Stored | None) -> Stored | None:
    return seen if seen and stored and not stored.gone and seen.version > stored.version else stored


def sweep_due(key: Key) -> tuple[Key, bool]:
    if not key.over:
        return key, False
    return touch(key._replace(place="-", over=False, holder=0))


class Hints(NamedTuple):
    """The hints that were sent, and those of them that count."""

    sent: int = 0
    unbegun: int = 0
    turn: int = 0  # of the classes

    def topped_up(self, keys: Iterable[Key], most: int) -> Hints:
        """Rule cover."""
        ready = sum(key.place == "Q" for key in keys)
        new = max(0, min(AHEAD - self.unbegun, ready - self.unbegun, most))
        return self._replace(sent=self.sent + new, unbegun=self.unbegun + new)


def class_of(name: str, key: Key) -> ReadyClass:
    return ReadyClass.SLOW if key.slow else BY_PREFIX[name.partition("/")[0]].ready_class


def served_next(keys: Mapping[str, Key], turn: int) -> set[str]:
    """The keys of which one is served: those of the class whose turn it is, or of the first that has any."""
    ready = {name: class_of(name, key) for name, key in keys.items() if key.place == "Q"}
    chosen = next((asked for asked in (CYCLE[turn % len(CYCLE)], *ReadyClass) if asked in ready.values()), None)
    return {name for name, ready_class in ready.items() if ready_class is chosen}
