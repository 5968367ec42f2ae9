"""The states of the model of ready keys and hints, and its flags."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Flags(NamedTuple):
    keys: int = 2
    events: int = 3
    faults: int = 2
    waits: int = 0
    requests: int = 0
    ahead: int = 1
    restart: bool = True  # Redis may be restarted (data kept) or flushed; messages kept or gone
    push: Literal["after", "in"] = "after"  # hints are published "after" the script, or "in" it
    kills: bool = True
    balance: bool = False  # check that no more hints are sent than keys become ready
    counted: Literal["unbegun", "drains"] = "unbegun"  # "drains": a hint counts until its drain ends
    leave: Literal["same", "later"] = "same"  # "later": a drain that found nothing leaves in a script of its own
    mark_tops: bool = True  # rule cover in a mark
    begin_tops: bool = True  # in take_next
    end_tops: bool = True  # in done
    forget: bool = True
    forget_tops: bool = True
    stamp_tops: bool = True
    closed: Literal["silent", "asks"] = "silent"  # "asks": whoever is turned away by a closed queue tops up
    ids: bool = True  # False: a counter
    unknown: Literal["drains", "refused"] = "drains"  # a message whose id is not in `sent`
    pop: Literal["lease", "later"] = "lease"  # "later": pop, then lease
    done: Literal["one", "two"] = "one"  # "two": done, then take_next
    token: bool = True
    lease: bool = True
    clear: Literal["generation", "all"] = "generation"  # "all": done clears what came meanwhile
    stops: int = 0  # workers that are asked to end while they have a hint that they have not begun
    decline: Literal["sends", "drops"] = "sends"  # what such a worker does; "drops": it leaves the id to the tick
    repeats: Literal["", "same", "again"] = ""  # a reply is lost and the client asks again; "again": it runs anew


class Key(NamedTuple):
    place: str = "-"
    dirty: bool = False
    holder: int = 0  # thread + 1; 0 = none
    fresh: bool = True  # the last accepted done had the newest


class Thread(NamedTuple):
    at: str = "idle"  # idle | popped | between (done, has not looked for the next) | empty | picked | run
    id: int = 0  # of its message; 0: it serves a named key
    key: int = -1
    old: bool = False
    newest: bool = False
    lost: bool = False


class S(NamedTuple):
    keys: tuple[Key, ...]
    events: int
    waits: int
    requests: int
    faults: int
    ready: tuple[int, ...] = ()  # in order
    sent: tuple[int, ...] = ()  # ids
    queue: tuple[int, ...] = ()  # ids of messages, oldest first
    pending: tuple[int, ...] = ()  # decided, not yet published
    threads: tuple[Thread, ...] = (Thread(), Thread())
    open: bool = True
    relist: tuple[int, ...] | None = None  # keys still to be marked before the stamp
    stops: int = 0
    over: int = 0  # hints sent minus keys made ready


def put(s: S, k: int, key: Key) -> S:
    return s._replace(keys=(*s.keys[:k], key, *s.keys[k + 1 :]))


def at(s: S, i: int, thread: Thread) -> S:
    return s._replace(threads=(*s.threads[:i], thread, *s.threads[i + 1 :]))


def without(ids: tuple[int, ...], identity: int) -> tuple[int, ...]:
    n = ids.index(identity) if identity in ids else len(ids)
    return ids[:n] + ids[n + 1 :]


def renumbered(s: S) -> S:
    new = {0: 0}
    for identity in (*s.sent, *s.queue, *s.pending, *(thread.id for thread in s.threads)):
        new.setdefault(identity, len(new))
    sent, queue, pending = (tuple(new[identity] for identity in part) for part in (s.sent, s.queue, s.pending))
    threads = tuple(thread._replace(id=new[thread.id]) for thread in s.threads)
    return s._replace(sent=sent, queue=queue, pending=pending, threads=threads)
