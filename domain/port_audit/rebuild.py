"""What the ledger of a pool must be, from the world alone: listeners and target groups by their tags, pods by their
annotations.

A live tag is bound (of several for one want the published one, else the first; the others are releasing); an annotation
without a listener is bound and will get its listener again, or releasing where the pod asks for it no more: nobody else
may have what a pod still publishes, and the listener of a precreated port does not say whose it is. A lone target group
is releasing. So is a dead tag, unless
it says that the port is retained, or a pod of that name asks for it and publishes it: then that pod takes it over.

A pod's author can write its annotations, so a published port is not yet a granted one. A pod that is registered at
the port had it. Any other gets what it publishes only where an allocation would give it: in a namespace that the pool
admits, within the namespace's share, and at no port whose tags name another pod.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from domain.ports.endpoints import Endpoint, parse_endpoints
from domain.ports.entry import Entry, EntryState
from domain.ports.fitting import widen_to_segment
from domain.ports.pod import PodView
from domain.ports.request import RequestError, wants_of
from domain.ports.target import target_text
from domain.ports.want import Want

Place = tuple[str, int]  # load balancer, port
Asked = tuple[str, str, str]  # owner, uid, key of the want
Held = dict[Place, tuple[str, Entry]]  # with the owner


@dataclass(frozen=True)
class Found:
    """A listener (or lone target group) of ours.

    `owner` is the namespace/name in its tag, `entry` what its tags and ARNs say. `shared`: a precreated one, which has
    such tags only as long as its owner's pod asks for retention.
    """

    owner: str
    entry: Entry
    shared: bool = False


@dataclass(frozen=True)
class Rebuilt:
    """`owners`: name -> entries. `collisions`: places that one pod publishes and another's live listener holds.

    `doubtful`: places whose owner depends on what is registered there.
    """

    owners: dict[str, tuple[Entry, ...]]
    collisions: tuple[Place, ...]
    doubtful: tuple[Place, ...] = ()


@dataclass(frozen=True)
class Rules:
    """What the pool allows of what is only published, and how annotations are read for it.

    `default_spec` is what an empty annotation stands for, `segment` the pool's segmentLength. `offered`: whether the
    pool has that place at all; a row about any other counts for nothing. `barred` are namespaces that may take no
    ports. `share` is how many ports a namespace may hold, None for any number.
    """

    default_spec: str = ""
    segment: int = 1
    offered: Callable[[Place], bool] = lambda _: True
    barred: frozenset[str] = frozenset()
    share: int | None = None


@dataclass(frozen=True)
class _Claim:
    """What one pod asks of this pool and publishes from it. `wants` None: its annotation cannot be read."""

    pod: PodView
    wants: tuple[Want, ...] | None
    shown: Mapping[Place, Endpoint]
    keys: frozenset[str] = frozenset()  # of all wants
    served: frozenset[Place] = frozenset()  # where its address is registered

    def asks_for(self, key: str) -> bool:
        """A mistake in the annotation costs nothing that is held."""
        return self.wants is None or key in self.keys

    def want_at(self, place: Place) -> str:
        """The key that a published place serves, '' for none; the name tells apart wants for one container port."""
        row = self.shown[place]
        found = [want for want in self.wants or () if want.key_of(row.container_port)]
        found.sort(key=lambda want: row.name not in (name for name, _ in want.names))
        return found[0].key_of(row.container_port) if found else ""


def rebuild(
    pool: str,
    listeners: Iterable[Found],
    groups: Iterable[Found],
    pods: Iterable[PodView],
    rules: Rules = Rules(),
    registered: Mapping[Place, Collection[str]] = MappingProxyType({}),
) -> Rebuilt:
    """Total: tags and annotations are whatever they are.

    `registered`: targets (ip:port) that stand at precreated ports, as far as
    somebody has looked. The answer is final when somebody has looked at all its doubtful places that can be looked at.
    """
    listed = list(pods)
    read = partial(_claim, pool, rules, registered)
    claims = {pod.full_name: read(pod) for pod in listed if pod.wants_ports}
    refusing = {pod.full_name for pod in listed if not pod.opted_in}
    items = list(listeners)
    doubtful = {_place(f.entry) for f in items if f.shared and any(True for _ in _others(f, claims))}
    found = sorted((f for f in items if not _given_on(f, claims)), key=lambda f: f.entry)
    rivals = defaultdict[Asked, list[Entry]](list)
    for item in found:
        rivals[_asked(item)].append(item.entry)
    held: Held = {}
    for item in found:
        held.setdefault(_place(item.entry), (item.owner, _judged(item, rivals, claims, refusing)))
    collisions = tuple(sorted(set(_collisions(claims, held))))
    leaving = {p.full_name: replace(read(p), wants=()) for p in listed if not p.wants_ports}
    published = _Published(pool, rules, held, claims | leaving)
    published.add_asked_for()
    published.add_others()
    for item in sorted(groups, key=lambda f: f.entry):
        held.setdefault(_place(item.entry), (item.owner, replace(item.entry, state=EntryState.RELEASING)))
    return Rebuilt(_by_owner(held), collisions, tuple(sorted(doubtful | published.doubtful)))


def _claim(pool: str, rules: Rules, registered: Mapping[Place, Collection[str]], pod: PodView) -> _Claim:
    wants: tuple[Want, ...] | None
    try:
        asked = wants_of(pod, rules.default_spec) if pod.opted_in else ()
        wants = tuple(widen_to_segment(want, rules.segment) for want in asked if want.pool == pool)
    except RequestError:
        wants = None
    keys = frozenset(key for want in wants or () for key in want.keys)
    rows = {
        (one.lb, one.port): one
        for row in parse_endpoints(pod.outputs.endpoints)
        if row.pool == pool
        for one in row.port_by_port()
    }
    offered = {place: row for place, row in rows.items() if rules.offered(place)}
    served = frozenset(
        place
        for place, row in offered.items()
        if any(target_text(ip, row.container_port) in registered.get(place, ()) for ip in pod.ips)
    )
    return _Claim(pod, wants, offered, keys, served)


def _place(entry: Entry) -> Place:
    return entry.lb, entry.port


def _given_on(item: Found, claims: Mapping[str, _Claim]) -> bool:
    """Whether another pod is served there: a worker that died left the tags of the owner before it."""
    return item.shared and any(_place(item.entry) in claim.served for claim in _others(item, claims))


def _others(item: Found, claims: Mapping[str, _Claim]) -> Iterator[_Claim]:
    """Of pods that ask for the place and publish it, while its tags name another pod."""
    place = _place(item.entry)
    others = (claim for name, claim in claims.items() if name != item.owner and place in claim.shown)
    return (claim for claim in others if claim.want_at(place))


def _asked(item: Found) -> Asked:
    return item.owner, item.entry.uid, item.entry.want


def _judged(
    item: Found, found: Mapping[Asked, list[Entry]], claims: Mapping[str, _Claim], refusing: Collection[str]
) -> Entry:
    """`found`: the listeners for each want, this one among them."""
    claim = claims.get(item.owner)
    entry = item.entry
    if not claim or claim.pod.uid != entry.uid:
        served = claim and (item.owner, claim.pod.uid, entry.want) in found
        return _of_the_dead(item, claim, refused=bool(served) or item.owner in refusing)
    if not claim.asks_for(entry.want):
        return replace(entry, state=EntryState.RELEASING)
    best = min(found[_asked(item)], key=lambda e: (_place(e) not in claim.shown, e))
    if _place(best) != _place(entry):
        return replace(entry, state=EntryState.RELEASING)
    return replace(entry, state=EntryState.BOUND, target=_target(claim, _place(entry)))


def _of_the_dead(item: Found, claim: _Claim | None, refused: bool) -> Entry:
    """Retained without a time: that begins when a run has seen to it that nothing is registered any more."""
    entry = item.entry
    if claim and claim.wants is not None:
        asked = entry.want in claim.keys and not refused
        if asked and (entry.retain or _place(entry) in claim.shown):
            return replace(entry, state=EntryState.RETAINED, uid=claim.pod.uid)
        return replace(entry, state=EntryState.RELEASING)
    if entry.retain and not refused:
        return replace(entry, state=EntryState.RETAINED)
    return replace(entry, state=EntryState.RELEASING)


def _target(claim: _Claim, place: Place) -> str:
    """What was registered when the pod was published; '' where nobody knows, then it is registered again."""
    return claim.shown[place].target if place in claim.shown else ""


def _collisions(claims: Mapping[str, _Claim], held: Held) -> Iterable[Place]:
    for name, claim in claims.items():
        for place in claim.shown.keys() & held.keys():
            owner, entry = held[place]
            if owner != name and entry.state is EntryState.BOUND:
                yield place


class _Published:
    """Adds to `held` what is only published. Whoever is registered at a place comes first, then the first by name."""

    def __init__(self, pool: str, rules: Rules, held: Held, claims: Mapping[str, _Claim]) -> None:
        self._pool, self._rules, self._held = pool, rules, held
        self._bound = {(owner, e.want) for owner, e in held.values() if e.state is EntryState.BOUND}
        self._used = Counter(owner.partition("/")[0] for owner, _ in held.values())
        rows = [(name, claim, place) for name, claim in claims.items() for place in claim.shown]
        served = {place for claim in claims.values() for place in claim.served}
        free = [row for row in rows if row[2] not in held]
        publishers = Counter(place for _, _, place in free)
        self.doubtful = {place for place, number in publishers.items() if number > 1}
        entitled = [row for row in free if row[2] in row[1].served or row[2] not in served]
        self._rows = sorted(entitled, key=lambda row: (row[2] not in served, row[0], row[2]))

    def add_asked_for(self) -> None:
        """One place a want."""
        for name, claim, place in self._rows:
            want = claim.want_at(place)
            if want and place not in self._held and (name, want) not in self._bound:
                self._add(name, claim, place, Entry(self._pool, *place, want, claim.pod.uid, EntryState.BOUND))

    def add_others(self) -> None:
        """What a pod publishes and does not ask for (any more): its own run takes it off the pod, then gives it back.

        It keeps what it publishes while its annotation cannot be read.
        """
        for name, claim, place in self._rows:
            row = claim.shown[place]
            key = f"{row.container_port}/{row.protocol}"
            if place in self._held or claim.want_at(place) or (name, key) in self._bound:
                continue
            state = EntryState.BOUND if claim.wants is None else EntryState.RELEASING
            self._add(name, claim, place, Entry(self._pool, *place, key, claim.pod.uid, state, target=row.target))

    def _add(self, name: str, claim: _Claim, place: Place, entry: Entry) -> None:
        space = claim.pod.namespace
        full = self._rules.share is not None and self._used[space] >= self._rules.share
        if place not in claim.served and (full or space in self._rules.barred):
            self.doubtful.add(place)
            entry = replace(entry, state=EntryState.RELEASING)
        self._held[place] = (name, entry)
        self._used[space] += 1
        if entry.state is EntryState.BOUND:
            self._bound.add((name, entry.want))


def _by_owner(held: Held) -> dict[str, tuple[Entry, ...]]:
    owners: dict[str, list[Entry]] = {}
    for owner, entry in held.values():
        owners.setdefault(owner, []).append(entry)
    return {owner: tuple(sorted(entries)) for owner, entries in owners.items()}
