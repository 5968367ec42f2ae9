"""What the ledger of a pool must be, from the world alone: listeners and target groups by their tags, pods by their
annotations.

A live tag is bound (of several for one want the published one, else the first; the others are releasing); an annotation
without a listener is bound and will get its listener again, or releasing where the pod asks for it no more: nobody else
may have what a pod still publishes, and the listener of a precreated port does not say whose it is. A lone target group
is releasing. So is a dead tag, unless
it says that the port is retained, or a pod of that name asks for it and publishes it: then that pod takes it over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from domain.ports.endpoints import Shown, shown
from domain.ports.entry import Entry, EntryState
from domain.ports.fitting import widened
from domain.ports.pod import PodView
from domain.ports.request import RequestError, wants_of
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
    """`owners`: name -> entries. `collisions`: places that one pod publishes and another's live listener holds."""

    owners: dict[str, tuple[Entry, ...]]
    collisions: tuple[Place, ...]


@dataclass(frozen=True)
class _Claim:
    """What one pod asks of this pool and publishes from it. `wants` None: its annotation cannot be read."""

    pod: PodView
    wants: tuple[Want, ...] | None
    shown: Mapping[Place, Shown]
    keys: frozenset[str] = frozenset()  # of all wants

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
    default_spec: str = "",
    segment: int = 1,
    offered: Callable[[Place], bool] = lambda _: True,
) -> Rebuilt:
    """Total: tags and annotations are whatever they are.

    `segment` is the pool's segmentLength. `offered`: whether the pool has that place at all. A pod's author can write
    an annotation, so one about any other place counts for nothing.
    """
    listed = list(pods)
    claims = {pod.full_name: _claim(pool, pod, default_spec, segment, offered) for pod in listed if pod.wants_ports}
    refusing = {pod.full_name for pod in listed if not pod.opted_in}
    found = sorted((f for f in listeners if not _given_on(f, claims)), key=lambda f: f.entry)
    rivals = defaultdict[Asked, list[Entry]](list)
    for item in found:
        rivals[_asked(item)].append(item.entry)
    held: Held = {}
    for item in found:
        held.setdefault(_place(item.entry), (item.owner, _judged(item, rivals, claims, refusing)))
    collisions = tuple(sorted(set(_collisions(claims, held))))
    _add_annotated(pool, claims, held)
    leaving = {pod.full_name: _Claim(pod, (), _rows(pool, pod, offered)) for pod in listed if not pod.wants_ports}
    _add_unasked(pool, claims | leaving, held)
    for item in sorted(groups, key=lambda f: f.entry):
        held.setdefault(_place(item.entry), (item.owner, replace(item.entry, state=EntryState.RELEASING)))
    return Rebuilt(_by_owner(held), collisions)


def _claim(pool: str, pod: PodView, default_spec: str, segment: int, offered: Callable[[Place], bool]) -> _Claim:
    wants: tuple[Want, ...] | None
    try:
        asked = wants_of(pod, default_spec)
        wants = tuple(widened(want, segment) for want in asked if want.pool == pool)
    except RequestError:
        wants = None
    keys = frozenset(key for want in wants or () for key in want.keys)
    return _Claim(pod, wants, _rows(pool, pod, offered), keys)


def _rows(pool: str, pod: PodView, offered: Callable[[Place], bool]) -> dict[Place, Shown]:
    rows = {(one.lb, one.port): one for row in shown(pod.outputs.endpoints) if row.pool == pool for one in row.each()}
    return {place: row for place, row in rows.items() if offered(place)}


def _place(entry: Entry) -> Place:
    return entry.lb, entry.port


def _given_on(item: Found, claims: Mapping[str, _Claim]) -> bool:
    """Whether another pod is served there: a worker that died left the tags of the owner before it."""
    place = _place(item.entry)
    others = (claim for name, claim in claims.items() if name != item.owner and place in claim.shown)
    return item.shared and any(claim.want_at(place) for claim in others)


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


def _add_annotated(pool: str, claims: Mapping[str, _Claim], held: Held) -> None:
    """Adds what is only published: one place a want, and the first pod by name where several publish one place."""
    served = {(owner, e.want) for owner, e in held.values() if e.state is EntryState.BOUND}
    for name, claim in sorted(claims.items()):
        for place in sorted(claim.shown):
            want = claim.want_at(place)
            if want and place not in held and (name, want) not in served:
                held[place] = (name, Entry(pool, *place, want, claim.pod.uid, EntryState.BOUND))
                served.add((name, want))


def _add_unasked(pool: str, claims: Mapping[str, _Claim], held: Held) -> None:
    """Adds what a pod publishes and does not ask for (any more): its own run takes it off the pod, then gives it back.

    It keeps what it publishes while its annotation cannot be read.
    """
    served = {(owner, e.want) for owner, e in held.values() if e.state is EntryState.BOUND}
    for name, claim in sorted(claims.items()):
        state = EntryState.BOUND if claim.wants is None else EntryState.RELEASING
        for place, row in sorted(claim.shown.items()):
            key = f"{row.container_port}/{row.protocol}"
            if place in held or claim.want_at(place) or (name, key) in served:
                continue
            held[place] = (name, Entry(pool, *place, key, claim.pod.uid, state, target=row.target))
            if state is EntryState.BOUND:
                served.add((name, key))


def _by_owner(held: Held) -> dict[str, tuple[Entry, ...]]:
    owners: dict[str, list[Entry]] = {}
    for owner, entry in held.values():
        owners.setdefault(owner, []).append(entry)
    return {owner: tuple(sorted(entries)) for owner, entries in owners.items()}
