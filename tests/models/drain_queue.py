"""Several keys, two threads, hints that keys are ready: take_next, done with the next key, hints ahead, a named key.

A key is at one place: - clean, Q ready, H held under a lease, W waits for a time. `sent` holds the ids of hints whose
drain has not begun: at most `ahead` of them, and no more than keys are ready. A drain that runs is counted nowhere: the
key that it holds is what can be lost, and that has a lease. Another service may ask for a key by its name: marked and
taken in one script, without a drain.

A generation is kept as two facts of each holder: `old` (marked since it took) and `newest` (it took what is newest).
A token is valid while the key names that thread as its holder. Time is not modelled: a slice may end after any key, a
lease or wait that must end ends at any moment. Bounds: events (marks) over all keys, waits, requests, faults. A flag
that is not as by default is a rule taken away, unless it is a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.models.drain_queue_states import Flags, Key, S, Thread, at, put, renumbered, without
from tests.models.explore import ENV, SYS, Result, explore

MANY = "more messages than are ahead, and faults"
TWICE = "two threads hold a key"
NOWHERE = "an unfinished key is in no index"
NOBODY = "a key is held by nobody, though nobody died"
UNCOVERED = "a key is ready, and no hint or drain is under way"
BEHIND = "a ready key waits behind a run"
MORE = "more hints than keys were made ready"


Edge = tuple[str, str, S]


class Queue:
    def __init__(self, flags: Flags) -> None:
        self.flags = flags

    def step(self, s: S) -> Iterator[Edge]:
        for k, key in enumerate(s.keys):
            yield from self.of_key(s, k, key)
        yield from self.publisher(s)
        for identity in dict.fromkeys(s.pending):
            sent = s._replace(pending=without(s.pending, identity), queue=(*s.queue, identity))
            yield SYS, f"hint {identity} is published", sent
        for identity in dict.fromkeys(s.sent):
            yield from self.tick(s, identity)
        yield from self.worker(s)
        yield from self.faults(s, s._replace(faults=s.faults - 1)) if s.faults else ()

    # ---- scripts

    def top_up(self, s: S, turned_away: bool = False) -> S:
        """As many unbegun hints as keys are ready, at most `ahead`; none while the queue is closed."""
        if not s.open and not turned_away:
            return s
        while len(s.sent) < min(self.flags.ahead, len(s.ready)):
            used = (0, *s.sent, *s.queue, *s.pending, *(thread.id for thread in s.threads))
            new = 1 + max(used) if self.flags.ids else 1
            s = s._replace(sent=(*s.sent, new), over=s.over + self.flags.balance)
            in_script = self.flags.push == "in"
            s = s._replace(queue=(*s.queue, new)) if in_script else s._replace(pending=(*s.pending, new))
        return s

    def enqueue(self, s: S, k: int, tops: bool = True) -> S:
        s = put(s, k, s.keys[k]._replace(place="Q"))._replace(ready=(*s.ready, k), over=s.over - self.flags.balance)
        return self.top_up(s) if self.flags.mark_tops and tops else s

    def touch(self, s: S, k: int, news: bool = False, tops: bool = True) -> S:
        marked = (t._replace(old=True, newest=t.newest and not news) if t.key == k else t for t in s.threads)
        key = s.keys[k]
        s = put(s._replace(threads=tuple(marked)), k, key._replace(dirty=True, fresh=key.fresh and not news))
        return s if key.place in "QH" else self.enqueue(s, k, tops)

    def end_drain(self, s: S, i: int) -> S:
        if self.flags.counted == "drains":
            s = s._replace(sent=without(s.sent, s.threads[i].id))
            if self.flags.leave == "same" or s.threads[i].at != "empty":
                s = self.top_up(s)
        return at(s, i, Thread())

    def hold(self, s: S, i: int, k: int) -> S:
        s = put(s, k, s.keys[k]._replace(place="H", holder=i + 1))
        return at(s, i, Thread("run", s.threads[i].id, k, old=False, newest=True))

    def next_key(self, s: S, i: int) -> tuple[str, S]:
        """The second half of take_next and done: pop the oldest ready key and lease it, or end the drain."""
        if not s.ready:
            if self.flags.counted == "drains" and self.flags.leave == "later":
                return "nothing is ready", at(s, i, Thread("empty", s.threads[i].id))
            return "nothing is ready, ends", self.end_drain(s, i)
        k, s = s.ready[0], s._replace(ready=s.ready[1:])
        if self.flags.pop == "later":
            picked = Thread("picked", s.threads[i].id, k)
            return f"pops key {k}", at(put(s, k, s.keys[k]._replace(place="-")), i, picked)
        return f"takes key {k}", self.hold(s, i, k)

    def take_next(self, s: S, i: int) -> tuple[str, S]:
        identity = s.threads[i].id
        if self.flags.unknown == "refused" and identity not in s.sent:
            return "drops an unknown hint", at(s, i, Thread())
        if self.flags.counted == "unbegun" or not s.open:
            s = s._replace(sent=without(s.sent, identity))
        if not s.open:
            turned = self.top_up(s, turned_away=True) if self.flags.closed == "asks" else s
            return "is turned away", at(turned, i, Thread())
        label, s = self.next_key(s, i)
        return label, self.top_up(s) if self.flags.begin_tops else s

    def decline(self, s: S, i: int) -> S:
        """The worker was asked to end: others get another hint. Its own thread stands for one of theirs from now on."""
        identity, s = s.threads[i].id, at(s._replace(stops=s.stops - 1), i, Thread())
        return self.top_up(s._replace(sent=without(s.sent, identity))) if self.flags.decline == "sends" else s

    def take(self, s: S, i: int, k: int) -> tuple[str, S]:
        """A service asks for a key: it is marked and taken in one script."""
        s = self.touch(s._replace(requests=s.requests - 1), k, tops=False)
        if s.keys[k].place == "H" or not s.open:
            return f"is asked for key {k}, marks it", self.top_up(s)
        s = s._replace(ready=tuple(ready for ready in s.ready if ready != k))
        return f"is asked for key {k}, takes it", self.top_up(self.hold(s, i, k))

    def finish(self, s: S, i: int, wait: bool) -> tuple[str, S]:
        thread = s.threads[i]
        k, key = thread.key, s.keys[thread.key]
        if self.flags.token and not (key.place == "H" and key.holder == i + 1):
            return "refused", self.touch(s, k, tops=self.flags.done == "two")
        if not self.flags.token and key.place == "Q":
            s = s._replace(ready=tuple(ready for ready in s.ready if ready != k))
        again = thread.old and self.flags.clear == "generation"
        s = put(s, k, Key("-", again, 0, thread.newest))
        if again:
            return "ready again", self.enqueue(s, k, tops=self.flags.done == "two")
        return ("waits", put(s, k, s.keys[k]._replace(place="W"))) if wait else ("clean", s)

    def expire(self, s: S, k: int) -> S:
        return self.touch(put(s, k, s.keys[k]._replace(place="-", holder=0)), k)

    # ---- who runs

    def of_key(self, s: S, k: int, key: Key) -> Iterator[Edge]:
        if s.events and s.relist is None:
            yield ENV, f"key {k} is marked", self.touch(s._replace(events=s.events - 1), k, news=True)
        if key.place == "W":
            yield SYS, f"the wait of key {k} is over", self.expire(s, k)
        held = any(thread.key == k and key.holder == i + 1 for i, thread in enumerate(s.threads))
        if key.place == "H" and self.flags.lease and not held:
            yield SYS, f"the lease of key {k} ends, its holder is dead", self.expire(s, k)

    def publisher(self, s: S) -> Iterator[Edge]:
        if s.relist:
            k, *others = s.relist
            yield SYS, f"the list marks key {k}", self.touch(s._replace(relist=tuple(others)), k, news=True)
        if s.relist == ():
            opened = s._replace(open=True, relist=None)
            yield SYS, "the queue is opened", self.top_up(opened._replace(sent=())) if self.flags.stamp_tops else opened

    def tick(self, s: S, identity: int) -> Iterator[Edge]:
        under_way = (*s.queue, *s.pending, *(thread.id for thread in s.threads))
        less = s._replace(sent=without(s.sent, identity))
        less = self.top_up(less) if self.flags.forget_tops else less
        if self.flags.forget and identity not in under_way:
            yield SYS, f"the tick forgets hint {identity}", less
        elif self.flags.forget and s.faults:
            yield ENV, f"the tick forgets hint {identity}, which is late", less._replace(faults=s.faults - 1)

    def worker(self, s: S) -> Iterator[Edge]:
        idle = next((i for i, thread in enumerate(s.threads) if thread.at == "idle"), -1)
        for i, thread in enumerate(s.threads):
            if thread.at != "idle" or i == idle:  # idle threads are alike
                for label, after in self.thread(s, i, thread):
                    yield SYS, f"thread {'AB'[i]} {label}", after
            if thread.at == "popped" and s.stops:
                yield ENV, f"thread {'AB'[i]} is asked to end", self.decline(s, i)

    def idle(self, s: S, i: int) -> Iterator[tuple[str, S]]:
        if s.queue:
            yield f"gets hint {s.queue[0]}", at(s._replace(queue=s.queue[1:]), i, Thread("popped", s.queue[0]))
        for k in range(len(s.keys)) if s.requests else ():
            yield self.take(s, i, k)

    def thread(self, s: S, i: int, thread: Thread) -> Iterator[tuple[str, S]]:
        if thread.at == "idle":
            yield from self.idle(s, i)
        elif thread.at == "popped":
            yield self.take_next(s, i)
        elif thread.at == "empty":
            yield "leaves", self.end_drain(s, i)
        elif thread.at == "picked":
            yield f"leases key {thread.key}", self.hold(s, i, thread.key)
        elif thread.at == "between":
            yield self.next_key(s, i)
        else:
            for wait in (False, True)[: 1 + bool(s.waits)]:
                yield from self.ends(s, i, thread, wait)

    def ends(self, s: S, i: int, thread: Thread, wait: bool) -> Iterator[tuple[str, S]]:
        label, after = self.finish(s._replace(waits=s.waits - wait), i, wait)
        label = f"ends key {thread.key}: {label}"
        over = self.end_drain(at(after, i, after.threads[i]._replace(key=-1)), i)
        yield f"{label}; its slice is over", self.top_up(over) if self.flags.end_tops else over
        if not thread.id:
            return  # a named key, outside of a drain
        after = at(after, i, Thread("between", thread.id))
        if self.flags.done == "two":
            yield label, after
            return
        then, after = self.next_key(after, i) if after.open else ("not ready, ends", self.end_drain(after, i))
        yield f"{label}; {then}", self.top_up(after) if self.flags.end_tops else after

    # ---- faults

    def faults(self, s: S, less: S) -> Iterator[Edge]:
        for identity in s.queue[:1]:
            yield ENV, f"hint {identity} is lost", less._replace(queue=s.queue[1:])
            yield ENV, f"hint {identity} is doubled", less._replace(queue=(*s.queue, identity))
        for identity in s.pending:
            died = less._replace(pending=without(s.pending, identity))
            yield ENV, f"a process dies before it publishes hint {identity}", died
        for i, thread in enumerate(s.threads):
            if thread.at != "idle":
                yield from self.of_thread(less, i, thread)
        if self.flags.restart and s.open:
            yield from self.losses(s, less)

    def of_thread(self, s: S, i: int, thread: Thread) -> Iterator[Edge]:
        name = f"thread {'AB'[i]}"
        if self.flags.repeats and thread.at in ("popped", "run"):
            yield ENV, f"{name} gets no reply and asks again", self.repeated(s, i)
        if not self.flags.kills:
            return
        dead, holds = at(s, i, Thread()), thread.key >= 0 and s.keys[thread.key].holder == i + 1
        if holds:
            dead = put(dead, thread.key, s.keys[thread.key]._replace(holder=0))
        yield ENV, f"{name} is killed, its message is lost", dead
        if thread.id:
            yield ENV, f"{name} is killed, its message comes back", dead._replace(queue=(*s.queue, thread.id))
        if thread.at == "run" and holds and s.keys[thread.key].place == "H" and self.flags.lease:
            paused = at(self.expire(s, thread.key), i, thread._replace(lost=True, old=True))
            yield ENV, f"{name} pauses for longer than its lease", paused

    def losses(self, s: S, less: S) -> Iterator[Edge]:
        threads = tuple(t._replace(lost=True) if t.key >= 0 else t for t in s.threads)
        for queue in {(), s.queue}:
            kept = less._replace(open=False, relist=(), queue=queue)
            yield ENV, f"Redis is restarted, {len(queue)} messages are left", kept
            every = tuple(range(self.flags.keys))
            gone = kept._replace(keys=(Key(fresh=False),) * self.flags.keys, ready=(), sent=(), relist=every)
            yield ENV, f"Redis is flushed, {len(queue)} messages are left", gone._replace(threads=threads)

    def repeated(self, s: S, i: int) -> S:
        again = self.flags.repeats == "again"
        if s.threads[i].at == "popped":
            _, first = self.take_next(s, i)
            return self.take_next(at(first, i, s.threads[i]), i)[1] if again and first.threads[i].at == "run" else first
        first = self.done_and_next(s, i)
        return self.done_and_next(at(first, i, s.threads[i]), i) if again else first

    def done_and_next(self, s: S, i: int) -> S:
        _, ended = self.finish(s, i, wait=False)
        return self.top_up(self.next_key(at(ended, i, Thread("between", s.threads[i].id)), i)[1])


def settled(s: S) -> bool:
    return all(key == Key() for key in s.keys) and not s.queue and s.open


def rules(flags: Flags) -> dict[str, Callable[[S], bool]]:
    def under_way(s: S) -> int:
        return len(s.queue) + len(s.pending) + sum(thread.at == "popped" for thread in s.threads)

    def covered(s: S) -> bool:
        return s.faults < flags.faults or not s.ready or under_way(s) > 0

    def holders(s: S, k: int) -> int:
        return sum(thread.at == "run" and thread.key == k and not thread.lost for thread in s.threads)

    def held(s: S, k: int) -> bool:
        return any(thread.key == k and s.keys[k].holder == i + 1 for i, thread in enumerate(s.threads))

    every = range(flags.keys)
    return {
        TWICE: lambda s: all(holders(s, k) <= 1 for k in every),
        NOWHERE: lambda s: (
            all(key.place in "QHW" or not key.dirty for key in s.keys)
            and all((k in s.ready) == (s.keys[k].place == "Q") for k in every)
        ),
        MANY: lambda s: under_way(s) <= flags.ahead * (1 + flags.faults - s.faults),
        UNCOVERED: lambda s: covered(s) or any(thread.at not in ("idle", "empty") for thread in s.threads),
        BEHIND: covered,
        NOBODY: lambda s: flags.kills or all(s.keys[k].place != "H" or held(s, k) for k in every),
        MORE: lambda s: not flags.balance or s.over <= flags.ahead * (flags.faults - s.faults),
    }


def check(flags: Flags) -> Result:
    init = S((Key(),) * flags.keys, flags.events, flags.waits, flags.requests, flags.faults, stops=flags.stops)
    return explore(init, Queue(flags).step, rules(flags), settled, renumbered)
