"""The ledger as a plain Python object: what the scripts must do, without indexes, bits or counters kept apart.

It predicts every port, because the ledger takes the first that fits in a known order. It does not predict who is woken:
that depends on milliseconds; test_histories.py checks the answer instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

Place = tuple[str, int]  # load balancer, port
Wants = Sequence[tuple[str, int]]


@dataclass(frozen=True)
class Held:
    """One entry. `run` is the run that allocated it, while nothing was recorded since."""

    owner: str
    uid: str
    want: str
    state: str
    run: int = -1


@dataclass(frozen=True)
class Lb:
    """`strangers`: all listeners that are not ours, also those on a port that an owner holds."""

    name: str
    slot: int
    position: int
    capacity: int
    strangers: frozenset[int] = frozenset()


@dataclass
class Reference:
    start: int
    size: int
    segment: int = 1
    lbs: dict[str, Lb] = field(default_factory=dict)
    held: dict[Place, Held] = field(default_factory=dict)
    strangers: set[Place] = field(default_factory=set)  # ports that only strangers use
    contested: set[Place] = field(default_factory=set)  # of strangers as well as of an owner
    demand: dict[str, int] = field(default_factory=dict)
    woken: set[str] = field(default_factory=set)
    picky: set[str] = field(default_factory=set)  # wait for ports in a row, which no number of free ports promises
    retiring: set[str] = field(default_factory=set)
    shut: set[str] = field(default_factory=set)  # meant to give no ports; others may only have no room
    intent: tuple[int, ...] | None = None
    raised: int = 0  # how often the epoch rose
    share: int | None = None  # ports that a namespace may have
    capped: dict[str, int] = field(default_factory=dict)  # owners whose namespace has its share

    # ---- counting

    def used(self, lb: str) -> int:
        return sum(name == lb for name, _ in self.held)

    def room(self, lb: str) -> int:
        return max(0, self.lbs[lb].capacity - self.used(lb)) if lb in self.lbs else 0

    def free(self) -> int:
        return sum(self.room(lb) for lb in self.lbs)

    def kept(self) -> int:
        """Free ports that are kept for the woken."""
        return sum(self.demand[name] for name in self.woken)

    def fitting(self) -> list[str]:
        """Who waits although its ports would fit beside those kept for the woken."""
        left = self.free() - self.kept()
        return [name for name, ports in self.demand.items() if name not in self.woken and ports <= left]

    def claims(self, space: str) -> int:
        """What the owners of a namespace hold and wait for."""
        held = sum(h.owner.startswith(f"{space}/") for h in self.held.values())
        return held + sum(ports for name, ports in self.demand.items() if name.startswith(f"{space}/"))

    def exceeds(self, owner: str, ports: int) -> bool:
        waited = self.demand.get(owner, 0)
        space = owner.partition("/")[0]
        return bool(self.share and ports and self.claims(space) - waited + ports > self.share)

    def of(self, owner: str) -> dict[Place, Held]:
        return {place: held for place, held in self.held.items() if held.owner == owner}

    # ---- runs

    def lacking(self, owner: str, uid: str, wants: Wants) -> list[tuple[str, int]]:
        has = {h.want for h in self.of(owner).values() if h.uid == uid and h.state != "releasing"}
        return [want for want in wants if want[0] not in has and not self._whole(owner, uid, *want)]

    def _whole(self, owner: str, uid: str, key: str, ports: int) -> bool:
        held = {place: h.want for place, h in self.of(owner).items() if h.uid == uid and h.state != "releasing"}
        starts = (place for place, want in held.items() if want == f"{key}+0")
        return any(all(held.get((lb, port + n)) == f"{key}+{n}" for n in range(ports)) for lb, port in starts)

    def allocate(self, owner: str, uid: str, wants: Wants, uniform: bool, run: int) -> bool | None:
        """None: its namespace has its share."""
        lacking = self.lacking(owner, uid, wants)
        if self.exceeds(owner, ports := sum(ports for _, ports in lacking)):
            self.leave(owner)
            self.capped[owner] = ports
            return None
        found = self._places(lacking, uniform)
        if found is None:
            self.leave(owner)
            self.demand[owner] = sum(ports for _, ports in lacking)
            self.picky |= {owner} if any(ports > 1 for _, ports in lacking) else set()
            return False
        for place, want in found.items():
            self.held[place] = Held(owner, uid, want, "allocated", run)
        self.leave(owner)
        return True

    def _places(self, wants: Wants, uniform: bool) -> dict[Place, str] | None:
        order = sorted(
            (lb for lb in self.lbs if self.room(lb)),
            key=lambda lb: (self.used(lb) if uniform else self.lbs[lb].position, lb),
        )
        found: dict[Place, str] = {}
        runs = [want for want in wants if want[1] > 1]
        for key, ports in runs + [want for want in wants if want[1] == 1]:
            place = next((p for lb in order if (p := self._fit(lb, ports, found))), None)
            if place is None:
                return None
            keys = [key] if ports == 1 else [f"{key}+{n}" for n in range(ports)]
            found |= {(place[0], place[1] + n): name for n, name in enumerate(keys)}
        return found

    def _fit(self, lb: str, ports: int, found: dict[Place, str]) -> Place | None:
        taken = {port for name, port in [*self.held, *self.strangers, *found] if name == lb}
        if self.room(lb) - sum(name == lb for name, _ in found) < ports:
            return None
        for first in range(self.start, self.start + self.size - ports + 1, self.segment if ports > 1 else 1):
            if taken.isdisjoint(range(first, first + ports)):
                return lb, first
        return None

    def leave(self, owner: str) -> None:
        self.demand.pop(owner, None)
        self.capped.pop(owner, None)
        self.woken.discard(owner)
        self.picky.discard(owner)

    def give_up(self, place: Place) -> None:
        """A stranger has the port."""
        del self.held[place]
        lb = self.lbs.get(place[0])
        if not lb:
            return
        if place not in self.contested and lb.capacity:
            self.lbs[lb.name] = Lb(lb.name, lb.slot, lb.position, lb.capacity - 1, lb.strangers)
        self.contested.discard(place)
        self.strangers.add(place)

    def crowd(self, place: Place) -> None:
        """AWS takes no listener there."""
        del self.held[place]
        if lb := self.lbs.get(place[0]):
            capacity = min(lb.capacity, self.used(lb.name))
            self.lbs[lb.name] = Lb(lb.name, lb.slot, lb.position, capacity, lb.strangers)

    # ---- the pool's side

    def configure(self, lbs: Iterable[Lb]) -> None:
        before = self.free()
        listed = {lb.name: lb for lb in lbs}
        self.retiring &= set(listed)
        self.lbs = {name: replace(lb, capacity=0) if name in self.retiring else lb for name, lb in listed.items()}
        self.shut = {lb.name for lb in self.lbs.values() if not lb.capacity}
        inside = {(lb.name, p) for lb in self.lbs.values() for p in lb.strangers if 0 <= p - self.start < self.size}
        self.strangers = inside - set(self.held)
        self.contested = inside & set(self.held)
        self.raised += self.free() > before

    def close(self, lbs: Iterable[Lb]) -> None:
        for lb in lbs:
            self.lbs.setdefault(lb.name, lb)
        self.intent = None
        self.raised += 1

    def retire(self, name: str) -> bool:
        of_others = any(lb == name for lb, _ in self.strangers | self.contested)
        wanted = self.demand and name not in self.shut
        if name not in self.lbs or name in self.retiring or self.used(name) or of_others or wanted:
            return False
        self.retiring.add(name)
        self.lbs[name] = replace(self.lbs[name], capacity=0)
        self.shut.add(name)
        return True

    def may_go(self, name: str) -> bool:
        return name in self.retiring and not self.used(name)

    def forget(self, name: str) -> None:
        del self.lbs[name]
        self.retiring.discard(name)
        self.shut.discard(name)

    def slots(self) -> set[int]:
        return {lb.slot for lb in self.lbs.values() if lb.slot >= 0}

    def short(self) -> int:
        stuck = sum(self.demand[name] for name in self.picky - self.woken)
        return max(0, sum(self.demand.values()) - stuck - self.free()) + stuck

    def new_intent(self, most: int, per_round: int, capacity: int) -> tuple[int, ...] | str:
        """The slots to create, or why none."""
        if self.intent is not None:
            return self.intent
        if self.short() <= 0:
            return "ENOUGH"
        count = min(math.ceil(self.short() / capacity), per_round, most - len(self.slots()))
        picked = tuple(slot for slot in range(most) if slot not in self.slots())[: max(0, count)]
        self.intent = picked or None
        return picked or "LIMIT"

    def lose(self) -> None:
        """Redis is gone; what the cloud has and pods show comes back, what was only allocated does not."""
        self.held = {p: Held(h.owner, h.uid, h.want, h.state) for p, h in self.held.items() if h.state != "allocated"}
        self.lbs, self.strangers, self.contested, self.retiring = {}, set(), set(), set()
        self.capped = {}
        self.demand, self.woken, self.picky, self.intent = {}, set(), set(), None

    def contents(self) -> Iterator[tuple[str, str, int, str, str, str]]:
        """(owner, load balancer, port, uid, want, state) of every entry."""
        for (lb, port), h in self.held.items():
            yield h.owner, lb, port, h.uid, h.want, h.state
