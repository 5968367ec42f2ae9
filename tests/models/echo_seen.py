"""A run stores what it wrote itself (`done(written=...)`), so that the event of that write is no news; and if that
event has come before, it was none. Is one lost by it?

It must not be: what is stored is never marked again. One object, one publisher, two workers. A version of the
object is what users want (`spec`) and what we wrote (`out`); it may be deleted and created again under another UID.
A run decides from the snapshot (or, `live`, from its own read), writes `out` and says done with the version that
the write made.

Shows: it is safe if the write carries the resource version of what the run decided from (with a fresher one, or
none, a user's edit is lost), if only a newer version replaces the stored one, and if done still compares
generations: it may forgive marks alone, all since it took the key, none newer than what it wrote. That a gone
snapshot is not replaced, that a stale holder stores nothing, and that an end is never forgiven, is caution: the
model holds without. Bounds: edits, re-creations, requests of others, faults. Waits end by events alone (their
timers are ENV): a conflict never strands a key.

A stream that swallows an event makes a run meet the same conflict for ever ("hot loop"). So who meets one reads the
object and goes on (`look`). A read does not know whom the publisher follows: if the object has lost its label
(`leaves`), what was written after it must not be stored (`stores_own`), or it hides that the object has left.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore


class Flags(NamedTuple):
    edits: int = 1
    recreations: int = 1
    faults: int = 2
    live: bool = False  # a run reads the object itself after it took the key
    precondition: bool = True  # the write fails if there is a newer version than the one that the run decided from
    newer: bool = True  # only a newer version replaces the stored one
    over_gone: bool = False  # a gone snapshot may be replaced
    generation: bool = True  # done compares the generation
    fenced: bool = True  # a stale holder stores nothing
    forgives: bool = True  # done takes marks since its take for echoes of its own write
    none_newer: bool = True  # ... if none is newer than that
    marks_alone: bool = True  # ... and nothing but marks has come
    living: bool = True  # ... none of which says that the object is gone
    touches: int = 0  # runs that others ask for, of an object that is known, without a new version
    swallows: int = 0  # events that the stream leaves out
    leaves: int = 0  # the object loses the label by which the publisher follows it: an end, though it is there
    look: bool = True  # a run whose write conflicts reads the object and tries once more
    stores_own: bool = False  # done stores what a run wrote that decided from a read of its own


class Version(NamedTuple):
    uid: int  # 0 = deleted
    spec: int
    out: int | None = None
    left: bool = False

    @property
    def gone(self) -> bool:
        """For the publisher."""
        return not self.uid or self.left


class Queue(NamedTuple):
    snap: int = 0  # stored version, 0 = none
    gone: bool = False  # it is stored as an end
    want: int = 0
    have: int = 0
    place: str = "-"  # - | Q a hint is out | H held | W waits
    token: int = 0
    since: int = -1  # generation before the first of the marks that came last, in one row and while held
    upto: int = 0  # version of the last of them


class Worker(NamedTuple):
    at: str = "idle"  # idle | taken | read | written
    gen: int = 0
    token: int = 0
    base: int = 0  # version decided from
    gone: bool = False  # it is known as an end
    own: bool = False  # it has read that itself
    looked: bool = False
    seen: int = 0  # version that its write made
    failed: bool = False  # conflict or lost reply: done with a wait


class S(NamedTuple):
    edits: int
    recreations: int
    faults: int
    world: tuple[Version, ...]
    events: int = 0  # versions that the publisher has seen
    queue: Queue = Queue()
    workers: tuple[Worker, Worker] = (Worker(), Worker())
    tokens: int = 0
    acted: Version | None = None  # what the last accepted run decided from
    relist: bool = False
    touches: int = 0
    asked: bool = False  # somebody has asked, and no run has begun since
    leaves: int = 0
    swallows: int = 0
    swallowed: bool = False


def touch(q: Queue) -> Queue:
    return q._replace(want=q.want + 1, place="Q" if q.place in "-W" else q.place, since=-1, upto=0)


def mark(q: Queue, version: int, gone: bool, f: Flags) -> Queue:
    if version <= q.snap:
        return q
    marked = touch(q._replace(snap=version, gone=gone))
    if q.place != "H" or (gone and f.living):
        return marked
    return marked._replace(since=q.want if q.since < 0 else q.since, upto=version)


def clean(q: Queue, w: Worker, f: Flags) -> bool:
    """Whether nothing has come since the run took the key, or echoes of its own write only."""
    if q.want == w.gen or not f.generation:
        return True
    echoes = (q.since == w.gen or not f.marks_alone) and (q.upto <= w.seen or not f.none_newer)
    return bool(f.forgives and w.seen and echoes)


def store(q: Queue, w: Worker, f: Flags) -> Queue:
    """What done makes of the version that the run wrote."""
    if not w.seen or not q.snap or (q.gone and not f.over_gone) or (f.newer and w.seen <= q.snap):
        return q
    return q._replace(snap=w.seen, gone=False)


def done(s: S, w: Worker, f: Flags) -> S:
    q = s.queue
    if w.token != q.token:
        return s._replace(queue=touch(q if f.fenced else store(q, w, f)))
    q = store(q, w, f)._replace(token=0)
    acted = s.acted if w.failed or not w.base else s.world[w.base - 1]
    if not clean(q, w, f):
        return s._replace(queue=q._replace(place="Q"), acted=acted)
    q = q._replace(have=q.want, place="W" if w.failed else "-", since=-1, upto=0)
    if q.place == "-" and q.gone:
        q = q._replace(snap=0, gone=False)
    return s._replace(queue=q, acted=acted)


def step(s: S, f: Flags) -> Iterator[tuple[str, str, S]]:
    yield from users(s)
    yield from publisher(s, f)
    q = s.queue
    if q.place == "W":
        nothing_else = s.swallowed and s.events == len(s.world) and not s.relist
        yield SYS if nothing_else else ENV, "the wait is over", s._replace(queue=touch(q))
    if q.place == "H" and all(w.token != q.token for w in s.workers):
        yield SYS, "the lease of the dead holder ends", s._replace(queue=touch(q._replace(place="-", token=0)))
    idle = next((i for i, w in enumerate(s.workers) if w.at == "idle"), None)
    for i, w in enumerate(s.workers):
        if w.at != "idle" or i == idle:
            for label, s2, w2 in work(s, w, f):
                yield SYS, f"{'AB'[i]} {label}", put(s2, i, w2)
    if s.faults:
        yield from faults(s._replace(faults=s.faults - 1))


def put(s: S, i: int, w: Worker) -> S:
    a, b = s.workers
    return s._replace(workers=(w, b) if i == 0 else (a, w))


def users(s: S) -> Iterator[tuple[str, str, S]]:
    last, n = s.world[-1], len(s.world) + 1
    if s.touches and s.queue.snap:
        asked = s._replace(touches=s.touches - 1, queue=touch(s.queue), asked=True)
        yield ENV, "another asks for a run", asked
    if last.uid and s.edits:
        edited = s._replace(edits=s.edits - 1, world=(*s.world, last._replace(spec=last.spec + 1)))
        yield ENV, f"v{n}: a user edits it", edited
    if last.uid and s.recreations:
        yield ENV, f"v{n}: deleted", s._replace(recreations=s.recreations - 1, world=(*s.world, Version(0, 0)))
    if last.uid and not last.left and s.leaves:
        left = s._replace(leaves=s.leaves - 1, world=(*s.world, last._replace(left=True)))
        yield ENV, f"v{n}: it loses its label", left
    if not last.uid:
        again = Version(max(v.uid for v in s.world) + 1, 0)
        yield ENV, f"v{n}: created again", s._replace(world=(*s.world, again))


def publisher(s: S, f: Flags) -> Iterator[tuple[str, str, S]]:
    newest = len(s.world)
    if s.relist:
        gone = s.world[-1].gone
        q = s.queue if gone and not s.queue.snap else mark(s.queue, newest, gone, f)
        yield SYS, f"relist at v{newest}", s._replace(relist=False, events=newest, queue=q)
    elif s.events < newest:
        version, now, before = s.events + 1, s.world[s.events], s.world[max(s.events - 1, 0)]
        unseen = now.left and before.left
        marked = s.queue if unseen else mark(s.queue, version, now.gone, f)
        yield SYS, f"event v{version}", s._replace(events=version, queue=marked)
        if s.swallows:
            yield (
                ENV,
                f"FAULT event v{version} is swallowed",
                s._replace(events=version, swallows=s.swallows - 1, swallowed=True),
            )


def work(s: S, w: Worker, f: Flags) -> Iterator[tuple[str, S, Worker]]:
    q = s.queue
    if w.at == "idle" and q.place == "Q" and not s.relist:
        token = s.tokens + 1
        taken = q._replace(place="H", token=token, since=-1, upto=0)
        at = "taken" if f.live or not q.snap else "read"
        begun = s._replace(queue=taken, tokens=token, asked=False)
        yield f"takes v{q.snap}", begun, Worker(at, q.want, token, q.snap, q.gone)
    elif w.at == "taken":
        yield f"reads v{len(s.world)}", s, w._replace(at="read", base=len(s.world), own=True)
    elif w.at == "read":
        yield write(s, w, f)
    elif w.at == "written":
        yield f"done, seen v{w.seen}", done(s, w, f), Worker()


def write(s: S, w: Worker, f: Flags) -> tuple[str, S, Worker]:
    decided, last = s.world[w.base - 1], s.world[-1]
    if w.gone or not decided.uid or decided.out == decided.spec:
        return "has nothing to write", s, w._replace(at="written")
    if not last.uid or last.uid != decided.uid or (f.precondition and w.base != len(s.world)):
        if f.look and not w.looked:
            return f"writes: conflict, reads v{len(s.world)}", s, w._replace(base=len(s.world), own=True, looked=True)
        return "writes: conflict", s, w._replace(at="written", failed=True)
    world = (*s.world, last._replace(out=decided.spec))
    seen = len(world) if f.stores_own or not w.own else 0
    return f"writes v{len(world)}", s._replace(world=world), w._replace(at="written", seen=seen)


def faults(less: S) -> Iterator[tuple[str, str, S]]:
    for i, w in enumerate(less.workers):
        name = "AB"[i]
        if w.at != "idle":
            yield ENV, f"FAULT {name} is killed", put(less, i, Worker())
        if w.seen and not w.failed:
            yield ENV, f"FAULT the reply to {name}'s write is lost", put(less, i, w._replace(seen=0, failed=True))
        if w.token and w.token == less.queue.token:
            freed = touch(less.queue._replace(place="-", token=0))
            yield ENV, f"FAULT {name} pauses, its lease ends", less._replace(queue=freed)
    if not less.relist:
        yield ENV, "FAULT the watch breaks", less._replace(relist=True)
        yield ENV, "FAULT Redis is flushed", less._replace(relist=True, queue=Queue(), asked=False)


def canon(s: S) -> S:
    """Tokens matter by equality only; generations too, and only to the holder."""
    q = s.queue
    holder = next((w for w in s.workers if w.token and w.token == q.token), None)
    want = int(q.want > q.have) + int(holder is not None and holder.gen != q.want)
    row = holder is not None and q.since >= 0
    since = -1 if not row else int(holder is not None and q.since == holder.gen)
    used = sorted({0, q.token, *(w.token for w in s.workers)})
    token = {t: n for n, t in enumerate(used)}
    a, b = (w._replace(token=token[w.token], gen=int(w is holder)) for w in s.workers)
    queue = q._replace(want=want, have=0, token=token[q.token], since=since, upto=q.upto if row else 0)
    return s._replace(queue=queue, workers=(a, b), tokens=len(used))


def settled(s: S) -> bool:
    last, acted = s.world[-1], s.acted
    idle = s.queue.place == "-" and all(w.at == "idle" for w in s.workers) and s.events == len(s.world)
    if not idle or s.relist or s.asked:
        return False
    if s.swallowed:
        return True  # what a resync repairs: nobody has met it
    if last.gone:
        return not s.queue.snap
    return acted is not None and acted[:2] == last[:2] and last.out == last.spec and s.queue.snap == len(s.world)


def check(f: Flags) -> Result:
    init = S(
        f.edits, f.recreations, f.faults, (Version(1, 0),), touches=f.touches, leaves=f.leaves, swallows=f.swallows
    )
    rules = {"stored what does not exist yet": lambda s: s.queue.snap <= len(s.world)}
    return explore(init, lambda s: step(s, f), rules, settled, canon)
