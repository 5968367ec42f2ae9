"""One port number in two pools, whose ledgers no script spans: is a pod ever left with a half, or asleep beside a
number that both have?

Two pods ask for it, in pools A and B of two ports each. A run reads what is free in A, then in B, and takes the lowest
number that both showed, in A and then in B; refused in B, it gives A's back and tries again. Without such a number it
joins A's waiting list and then B's. Somebody else's port in A becomes free at any time, somebody takes one in B, and a
run may die after each of its steps; then the key is run again.

Shows: a run must begin by giving back a half that nobody saw, and it may join a list only if no port of that pool has
become free since it looked, for nobody wakes it for those. Bounds: two numbers, one death, one port that is freed, one
that is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.models.explore import ENV, SYS, Result, explore

A, B = 0, 1
Pool = tuple[str, str]  # who has each of the two ports, - for nobody


class Flags(NamedTuple):
    deaths: int = 1
    gives_back: bool = True  # a run begins with that, and does it when a pool refuses
    compares: bool = True  # who looked before a port became free does not join the list


class Pod(NamedTuple):
    at: str = "idle"  # idle | A B: to read there | take A | take B | wait A | wait B
    dirty: bool = True
    seen: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())
    changed: tuple[bool, bool] = (False, False)  # a port there has become free since it read
    listed: tuple[bool, bool] = (False, False)


class S(NamedTuple):
    deaths: int
    pools: tuple[Pool, Pool] = (("x", "-"), ("-", "-"))
    pods: tuple[Pod, Pod] = (Pod(), Pod())
    taken: bool = False  # somebody else has taken a port of B


NAMES = ("p", "q")


def put(s: S, n: int, pod: Pod) -> S:
    return s._replace(pods=(pod, s.pods[1]) if n == 0 else (s.pods[0], pod))


def own(s: S, pool: int, number: int, who: str) -> S:
    ports = tuple(who if k == number else owner for k, owner in enumerate(s.pools[pool]))
    pools = (ports, s.pools[1]) if pool == A else (s.pools[0], ports)
    return s._replace(pools=pools)  # type: ignore[arg-type]  # two ports each


def free(s: S, pool: int, number: int) -> S:
    """Wakes who is on the list; who has read knows less than there is."""
    s = own(s, pool, number, "-")
    for n, pod in enumerate(s.pods):
        changed = (True, pod.changed[B]) if pool == A else (pod.changed[A], True)
        s = put(s, n, pod._replace(changed=changed, dirty=pod.dirty or pod.listed[pool]))
    return s


def served(s: S, name: str) -> bool:
    return any(a == b == name for a, b in zip(*s.pools, strict=True))


def halves(s: S, name: str) -> list[tuple[int, int]]:
    held = [(pool, k) for pool in (A, B) for k, owner in enumerate(s.pools[pool]) if owner == name]
    return [] if served(s, name) else held


class Model:
    def __init__(self, flags: Flags) -> None:
        self.flags = flags

    def step(self, s: S) -> Iterator[tuple[str, str, S]]:
        if s.pools[A][0] == "x":
            yield ENV, "x gives back A:0", free(s, A, 0)
        if not s.taken and s.pools[B][0] == "-":
            yield ENV, "y takes B:0", own(s, B, 0, "y")._replace(taken=True)
        for n, pod in enumerate(s.pods):
            if pod.at != "idle" and s.deaths:
                yield (
                    ENV,
                    f"{NAMES[n]} dies",
                    put(s, n, pod._replace(at="idle", dirty=True))._replace(deaths=s.deaths - 1),
                )
            if pod.at != "idle" or pod.dirty:
                yield SYS, f"{NAMES[n]} {pod.at}", self.run(s, n, pod)

    def run(self, s: S, n: int, pod: Pod) -> S:
        if pod.at == "idle":
            return self.begin(s, n)
        if pod.at in ("A", "B"):
            return self.read(s, n, pod)
        return self.take(s, n, pod) if pod.at.startswith("take") else self.wait(s, n, pod)

    def begin(self, s: S, n: int) -> S:
        for place in halves(s, NAMES[n]) if self.flags.gives_back else ():
            s = free(s, *place)
        pod = s.pods[n]
        if served(s, NAMES[n]):
            return put(s, n, pod._replace(dirty=False, listed=(False, False)))
        return put(s, n, pod._replace(at="A", dirty=False))

    def read(self, s: S, n: int, pod: Pod) -> S:
        pool = A if pod.at == "A" else B
        found = frozenset(k for k, owner in enumerate(s.pools[pool]) if owner == "-")
        if pool == A:
            return put(s, n, pod._replace(at="B", seen=(found, frozenset()), changed=(False, pod.changed[B])))
        pod = pod._replace(seen=(pod.seen[A], found), changed=(pod.changed[A], False))
        return put(s, n, pod._replace(at="take A" if pod.seen[A] & found else "wait A"))

    def take(self, s: S, n: int, pod: Pod) -> S:
        pool, number = A if pod.at == "take A" else B, min(pod.seen[A] & pod.seen[B])
        if s.pools[pool][number] == "-":
            taken = own(s, pool, number, NAMES[n])
            return put(taken, n, pod._replace(at="take B") if pool == A else Pod(dirty=False))
        if pool == B and self.flags.gives_back:
            s = free(s, A, number)
        return put(s, n, s.pods[n]._replace(at="idle", dirty=True))

    def wait(self, s: S, n: int, pod: Pod) -> S:
        pool = A if pod.at == "wait A" else B
        if self.flags.compares and pod.changed[pool]:
            return put(s, n, pod._replace(at="idle", dirty=True))
        listed = (True, pod.listed[B]) if pool == A else (pod.listed[A], True)
        return put(s, n, pod._replace(at="wait B" if pool == A else "idle", listed=listed))


def settled(s: S) -> bool:
    both = any(a == b == "-" for a, b in zip(*s.pools, strict=True))
    return all(served(s, name) or not (both or halves(s, name)) for name in NAMES)


def check(flags: Flags) -> Result:
    return explore(S(flags.deaths), Model(flags).step, {}, settled)
