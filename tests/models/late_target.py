"""A run that lost its lease still calls AWS: two pods, one precreated port, a target group that outlives its owners.

No call takes a token, so it may land after the heir's. Shows that the target group ends right if the address is noted
before the call (`intent`), if a record that is refused makes the port's *present owner* compare (`tells`), if the wish
to compare is a number that only a run that has seen it ends (`number`), and if a periodic comparison (`audit`) covers
a caller that never comes back. The ledger keeps no owner by port, so the wish comes first and the owner is looked up
after it (`wish_first`): who takes the port between finds the wish when it begins. That a record answers with a wish
that stands (`answered`) is caution.

Pod 1 has address a, may get b, may go; pod 2 (address c) may come and wants the same port. Bounds: those four events,
`faults` pauses or deaths, two workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.models.explore import ENV, SYS, Result, explore

NOBODY, DEAD = -1, 9
NONE: frozenset[str] = frozenset()


class Flags(NamedTuple):
    faults: int = 2
    kill: bool = True  # a worker may die, also with its call on the wire
    intent: bool = True
    tells: bool = True
    number: bool = True  # False: a flag, that any comparison takes down
    wish_first: bool = True
    answered: bool = True
    audit: bool = True


class Key(NamedTuple):
    address: str = ""  # '' = no such pod
    dirty: bool = False
    holder: int = NOBODY


class Port(NamedTuple):
    owner: int = NOBODY
    bound: str = ""
    tried: frozenset[str] = NONE
    wish: int = 0  # the last one
    served: int = 0


class Worker(NamedTuple):
    at: str = "idle"  # idle | call | record | wire (dead, its call is on the way) | wish | look
    key: int = 0
    add: str = ""
    drop: frozenset[str] = NONE
    compares: bool = False
    wish: int = 0
    owner: int = NOBODY  # that it found


class S(NamedTuple):
    keys: tuple[Key, ...]
    workers: tuple[Worker, ...]
    port: Port
    targets: frozenset[str]
    faults: int

    def key(self, number: int, **changes: Any) -> S:
        return self._replace(keys=put(self.keys, number, self.keys[number]._replace(**changes)))

    def worker(self, number: int, worker: Worker) -> S:
        return self._replace(workers=put(self.workers, number, worker))

    def wanted(self) -> frozenset[str]:
        return frozenset({self.port.bound} - {""})


def put(items: tuple[Any, ...], at: int, item: object) -> tuple[Any, ...]:
    return (*items[:at], item, *items[at + 1 :])


def step(s: S, f: Flags) -> Iterator[tuple[str, str, S]]:
    for k, old, new in ((0, "a", "b"), (0, "a", ""), (0, "b", ""), (1, "", "c")):
        if s.keys[k].address == old:
            yield ENV, f"pod {k + 1} gets {new or 'deleted'}", s.key(k, address=new, dirty=True)
    for k, key in enumerate(s.keys):
        if key.holder == DEAD:
            yield SYS, f"the lease of pod {k + 1} ends", s.key(k, holder=NOBODY, dirty=True)
    owner = s.port.owner
    asked = wished(s) and (owner == NOBODY or s.keys[owner].dirty or s.keys[owner].holder != NOBODY)
    if f.audit and s.targets != s.wanted() and quiet(s) and not asked:
        yield SYS, "audit finds other targets than it should", touch(wish(s, f), owner)
    for w, worker in enumerate(s.workers):
        yield from worked(s, w, worker, f)


def quiet(s: S) -> bool:
    return all(w.at in ("idle", "wire") for w in s.workers)


def worked(s: S, w: int, worker: Worker, f: Flags) -> Iterator[tuple[str, str, S]]:
    who = f"worker {'AB'[w]}"
    if worker.at == "idle" and w == next(n for n, other in enumerate(s.workers) if other.at == "idle"):
        for k, key in enumerate(s.keys):
            if key.dirty and key.holder == NOBODY:
                yield SYS, f"{who} takes pod {k + 1}", aimed(s, w, k, f)
    elif worker.at in ("call", "wire"):
        after = worker._replace(at="record") if worker.at == "call" else Worker()
        yield SYS, f"{who}'s call lands", s._replace(targets=landed(s.targets, worker)).worker(w, after)
    elif worker.at == "record":
        yield SYS, f"{who} records", recorded(s, w, worker, f)
    elif worker.at in ("wish", "look"):
        yield SYS, f"{who} says it came too late: {worker.at}", told(s, w, worker, f)
    if worker.at not in ("idle", "wire") and s.faults:
        yield from broken(s, w, worker, f)


def broken(s: S, w: int, worker: Worker, f: Flags) -> Iterator[tuple[str, str, S]]:
    less, mine = s._replace(faults=s.faults - 1), s.keys[worker.key].holder == w
    if mine:
        yield ENV, f"worker {'AB'[w]} pauses, its lease ends", less.key(worker.key, holder=NOBODY, dirty=True)
    if f.kill:
        dead = less.key(worker.key, holder=DEAD) if mine else less
        left = worker._replace(at="wire") if worker.at == "call" else Worker()
        yield ENV, f"worker {'AB'[w]} dies at its {worker.at}", dead.worker(w, left)


def landed(targets: frozenset[str], worker: Worker) -> frozenset[str]:
    add = frozenset({worker.add} - {""})
    return add if worker.compares else (targets - worker.drop) | add


def aimed(s: S, w: int, k: int, f: Flags) -> S:
    """The scripts before the call: take, open, allocate, aim."""
    address, port = s.keys[k].address, s.port
    s, due = s.key(k, dirty=False), wished(s)
    free_for_it = port.owner == k or (port.owner == NOBODY and address)
    if not free_for_it or (port.bound == address and not due and not port.tried and port.owner == k):
        return s
    maybe = port.tried | ({port.bound, address} - {""})
    s = s._replace(port=port._replace(owner=k, tried=maybe if f.intent else NONE))
    drop = (maybe if f.intent else frozenset({port.bound} - {""})) - {address}
    return s.key(k, holder=w).worker(w, Worker("call", k, address, drop, due and bool(address), port.wish))


def recorded(s: S, w: int, worker: Worker, f: Flags) -> S:
    s = s.worker(w, Worker())
    if s.keys[worker.key].holder != w:
        return s.worker(w, Worker("wish" if f.wish_first else "look")) if f.tells else s
    port = s.port
    served = (worker.wish if f.number else port.wish) if worker.compares else port.served
    gone = not worker.add
    s = s._replace(port=Port(NOBODY if gone else worker.key, worker.add, NONE, port.wish, max(served, port.served)))
    s = s.key(worker.key, holder=NOBODY)
    if f.answered and not gone and wished(s):
        s = s.key(worker.key, dirty=True)  # the same run goes on
    return touch(s, 1 - worker.key) if gone else s


def told(s: S, w: int, worker: Worker, f: Flags) -> S:
    """Two steps: the wish, and whom to touch. In the wrong order the owner of before is touched after the wish."""
    if f.wish_first:
        if worker.at == "wish":
            return wish(s, f).worker(w, Worker("look"))
        return touch(s, s.port.owner).worker(w, Worker())
    if worker.at == "look":
        return s.worker(w, Worker("wish", owner=s.port.owner))
    return touch(wish(s, f), worker.owner).worker(w, Worker())


def wish(s: S, f: Flags) -> S:
    port = s.port
    return s._replace(port=port._replace(wish=port.wish + 1 if f.number else port.served + 1))


def touch(s: S, k: int) -> S:
    return s.key(k, dirty=True) if k != NOBODY else s


def settled(s: S) -> bool:
    if any(k.dirty or k.holder != NOBODY for k in s.keys) or not quiet(s) or any(w.at == "wire" for w in s.workers):
        return False
    alive = [k for k, key in enumerate(s.keys) if key.address]
    if not alive:
        return s.port.owner == NOBODY and (s.targets == NONE or wished(s))
    right = s.port.owner in alive and s.port.bound == s.keys[s.port.owner].address
    return right and s.targets == s.wanted()


def wished(s: S) -> bool:
    return s.port.wish != s.port.served


def norm(s: S) -> S:
    """Only the distance of the numbers matters."""
    base = s.port.served
    workers = tuple(w._replace(wish=max(w.wish - base, -1)) if w.at in ("call", "record") else w for w in s.workers)
    workers = tuple(w._replace(wish=0) if w.at not in ("call", "record") else w for w in workers)
    return s._replace(port=s.port._replace(wish=s.port.wish - base, served=0), workers=workers)


def run(**flags: bool | int) -> Result:
    f = Flags(**flags)  # type: ignore[arg-type]  # a flag or a bound each
    init = S((Key("a", dirty=True), Key()), (Worker(), Worker()), Port(), NONE, f.faults)
    return explore(init, lambda s: step(s, f), {}, settled, norm)
