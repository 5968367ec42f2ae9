"""The versions of an API go back (etcd is restored from a backup). Does everybody still follow what is there?

One object, one publisher, one worker. `spec` is what users want, `out` what a run wrote. After a restore the object is
as it was in the backup, and versions go on from there: what comes next may have a number that was used before. No two
histories give one object the same number for different contents; that alone cannot be noticed.

Shows: the publisher must take a list for a new history when its version is below what Redis has stored, or at it
without that object; or when it has the object at a lower version than Redis has. (The watermark of the process alone
would not do, it ends with it; it is needed for kinds that are not stored.) A list comes when the stream breaks, and on
a period. Then it raises the number of the history, which is stored with each version; a version of another history
never refuses a mark; and what a run of another history wrote is not stored over one of this. Not shown: a restore to a
moment before a run's write of which no event came; a backup that young does not exist. Bounds: edits, restores,
restarts, deletions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore

ERAS = 3


class Flags(NamedTuple):
    edits: int = 2
    restores: int = 1
    restarts: int = 1
    watermark: bool = True  # a list below the watermark of the process is a new history
    stored: bool = True  # ... or below the highest version that Redis has stored
    object: bool = True  # ... or one that has the object at a lower version than Redis has
    numbered: bool = True  # a mark is compared with a version of its own history only
    own: bool = True  # done stores what it wrote over a version of its own history only


class Object(NamedTuple):
    version: int = 0
    spec: int = 0
    out: int | None = None
    there: bool = True


class World(NamedTuple):
    object: Object = Object()
    latest: int = 0  # the version of a list

    def write(self, changed: Object, era: int) -> World:
        """Each history has numbers of its own."""
        version = self.latest + 1 + (era - self.latest - 1) % ERAS
        return World(changed._replace(version=version), version)


class Stored(NamedTuple):
    history: int
    object: Object


class Worker(NamedTuple):
    at: str = "idle"  # idle | read | written
    generation: int = 0
    base: Stored | None = None
    own: Object | None = None  # as its write made it


class S(NamedTuple):
    edits: int
    restores: int
    restarts: int
    world: World = World()
    backup: World = World()
    era: int = 0  # of the API; the publisher does not know it
    stream: int = 0  # era that its stream follows
    listing: bool = True
    watermark: int = 0
    history: int = 0
    stored: Stored | None = None
    want: int = 0  # generation of the last mark
    have: int = 0
    worker: Worker = Worker()


def mark(s: S, now: Object, f: Flags) -> S:
    old = s.stored
    comparable = old is not None and (old.history == s.history or not f.numbered)
    if old and comparable and now.version <= old.object.version:
        return s
    return s._replace(stored=Stored(s.history, now), want=s.want + 1)


def listed(s: S, f: Flags) -> S:
    latest, now, old = s.world.latest, s.world.object, s.stored
    known = old.object.version if old and old.history == s.history else 0
    lacks = not now.there and old is not None and old.object.there
    back = (f.watermark and latest < s.watermark) or (f.stored and latest < known + lacks)
    back = back or (f.object and now.there and now.version < known)
    s = s._replace(listing=False, stream=s.era, watermark=latest, history=s.history + back)
    end = now._replace(version=latest)
    return mark(s, now if now.there else end, f) if now.there or (old and old.object.there) else s


def step(s: S, f: Flags) -> Iterator[tuple[str, str, S]]:
    yield from users(s)
    now = s.world.object
    if s.listing or s.stream != s.era:
        yield SYS, f"a list at v{s.world.latest}", listed(s, f)
    elif listed(s, f).history != s.history:
        yield SYS, f"the list of a resync at v{s.world.latest}", listed(s, f)
    elif now.version > s.watermark:
        yield SYS, f"event v{now.version}", mark(s._replace(watermark=now.version), now, f)
    if s.restarts:
        yield ENV, "the publisher restarts", s._replace(restarts=s.restarts - 1, listing=True, watermark=0)
    yield from work(s, f)


def users(s: S) -> Iterator[tuple[str, str, S]]:
    now = s.world.object
    if s.edits:
        fewer = s._replace(edits=s.edits - 1)
        if now.there:
            yield ENV, "an edit", fewer._replace(world=s.world.write(now._replace(spec=s.edits), s.era))
            yield ENV, "a deletion", fewer._replace(world=s.world.write(now._replace(there=False), s.era))
        yield ENV, "something else is written", fewer._replace(world=World(now, s.world.latest + 2))
    if s.backup != s.world and s.restores:
        yield ENV, "a backup", s._replace(backup=s.world)
    known = s.stored.object.version if s.stored else 0
    if s.restores and s.world.object.version <= max(s.watermark, known):
        yield ENV, "a restore", s._replace(restores=s.restores - 1, world=s.backup, era=s.era + 1)


def work(s: S, f: Flags) -> Iterator[tuple[str, str, S]]:
    w = s.worker
    if w.at == "idle" and s.want != s.have and s.stored and not s.listing:
        yield SYS, f"takes v{s.stored.object.version}", s._replace(worker=Worker("read", s.want, s.stored))
    elif w.at == "read" and w.base:
        yield write(s, w, w.base.object)
    elif w.at == "written":
        yield SYS, "done", done(s, w, f)


def write(s: S, w: Worker, base: Object) -> tuple[str, str, S]:
    """Who meets a conflict reads the object and goes on from there; what is written then is not stored."""
    now = s.world.object
    conflict = base.version != now.version and base.there and base.out != base.spec
    known = now if conflict else base
    if not known.there or known.out == known.spec:
        return SYS, "has nothing to write", s._replace(worker=w._replace(at="written"))
    world = s.world.write(now._replace(out=known.spec), s.era)
    written = w._replace(at="written", own=None if conflict else world.object)
    return SYS, f"writes v{world.latest}", s._replace(world=world, worker=written)


def done(s: S, w: Worker, f: Flags) -> S:
    old = s.stored
    own_history = w.base and old and (old.history == w.base.history or not f.own)
    if w.own and own_history and old and old.object.there and old.object.version < w.own.version:
        s = s._replace(stored=old._replace(object=w.own))
    clean = s.want == w.generation
    return s._replace(worker=Worker(), have=s.want if clean else s.have)


def canon(s: S) -> S:
    w = s.worker
    fresh = int(w.at != "idle" and w.generation != s.want)
    return s._replace(want=int(s.want != s.have) + fresh, have=0, worker=w._replace(generation=int(s.want != s.have)))


def settled(s: S) -> bool:
    now, known = s.world.object, s.stored
    if s.want != s.have or s.worker.at != "idle" or s.listing:
        return False
    if not now.there:
        return known is None or not known.object.there
    return known is not None and known.object == now and now.out == now.spec


def check(f: Flags) -> Result:
    init = S(f.edits, f.restores, f.restarts)
    return explore(init, lambda s: step(s, f), {}, settled, canon)
