"""Rebuilds the ledger of a pool from tags in the cloud and annotations of pods.

A listener whose tags name a live pod is bound. Of several for one want, the published one is bound, otherwise the
first; the others are releasing. An annotation without a listener is bound and gets its listener again, because nobody
else may have what a pod still publishes, and the listener of a precreated port does not say whose it is. It is
releasing where the pod does not ask for the port any more. A target group without listener is releasing. A listener
whose tags name a dead pod is releasing as well, unless its tags say that the port is retained, or a pod of that name
asks for the port and publishes it: that pod takes it over.

A pod's author can write its annotations, so a published port is not yet a granted one. A pod that is registered at
the port had it. Any other pod gets what it publishes only where an allocation would give it: in a namespace that the
pool admits, within the namespace's share, and at no port whose tags name another pod.
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
WantId = tuple[str, str, str]  # owner, uid, key of the want
Held = dict[Place, tuple[str, Entry]]  # with the owner


@dataclass(frozen=True)
class TaggedEntry:
    """A listener (or a target group without one) of ours.

    `owner` is the namespace/name in its tags, `entry` what its tags and ARNs say. `shared`: it is precreated, and has
    such tags only as long as its owner's pod asks for retention.
    """

    owner: str
    entry: Entry
    shared: bool = False


@dataclass(frozen=True)
class RebuiltLedger:
    """`owners`: name -> entries. `collisions`: places that one pod publishes and another's live listener holds.

    `doubtful`: places whose owner depends on which targets are registered there.
    """

    owners: dict[str, tuple[Entry, ...]]
    collisions: tuple[Place, ...]
    doubtful: tuple[Place, ...] = ()


@dataclass(frozen=True)
class RebuildRules:
    """What the pool allows of ports that are only published, and how it reads annotations.

    `default_spec` is what an empty annotation stands for, `segment` the pool's segmentLength. `offered`: whether the
    pool has that place at all; published rows about other places are ignored. `barred` are namespaces that may take no
    ports. `share` is how many ports a namespace may hold, None for any number.
    """

    default_spec: str = ""
    segment: int = 1
    offered: Callable[[Place], bool] = lambda _: True
    barred: frozenset[str] = frozenset()
    share: int | None = None


@dataclass(frozen=True)
class _PodRequest:
    """What one pod asks of this pool and publishes from it.

    `wants` None: its annotation cannot be read. `keys` are those of all wants. `served` are the places where one of
    its addresses is registered.
    """

    pod: PodView
    wants: tuple[Want, ...] | None
    shown: Mapping[Place, Endpoint]
    keys: frozenset[str] = frozenset()
    served: frozenset[Place] = frozenset()

    def asks_for(self, key: str) -> bool:
        """Whether the pod wants that key. An unreadable annotation keeps everything that the pod holds."""
        return self.wants is None or key in self.keys

    def want_at(self, place: Place) -> str | None:
        """The key that a published place serves, None for none; the name tells apart wants for one container port."""
        row = self.shown[place]
        candidates = [want for want in self.wants or () if want.key_of(row.container_port)]
        candidates.sort(key=lambda want: row.name not in (name for name, _ in want.names))
        return candidates[0].key_of(row.container_port) if candidates else None


def rebuild(
    pool: str,
    listeners: Iterable[TaggedEntry],
    groups: Iterable[TaggedEntry],
    pods: Iterable[PodView],
    rules: RebuildRules = RebuildRules(),
    registered: Mapping[Place, Collection[str]] = MappingProxyType({}),
) -> RebuiltLedger:
    """Rebuild the ledger from whatever tags and annotations say; no input is an error.

    `registered` has the targets (ip:port) of the precreated ports that the caller has read. The result is final once
    it contains all doubtful places that can be read.
    """
    all_pods = list(pods)
    read = partial(_read_pod, pool, rules, registered)
    requests = {pod.full_name: read(pod) for pod in all_pods if pod.wants_ports}
    refusing = {pod.full_name for pod in all_pods if not pod.opted_in}
    all_listeners = list(listeners)
    shared = (listener for listener in all_listeners if listener.shared)
    doubtful = {_place(listener.entry) for listener in shared if any(True for _ in _rivals(listener, requests))}
    remaining = [listener for listener in all_listeners if not _given_away(listener, requests)]
    ordered = sorted(remaining, key=lambda listener: listener.entry)
    by_want = defaultdict[WantId, list[Entry]](list)
    for listener in ordered:
        by_want[_want_id(listener)].append(listener.entry)
    held: Held = {}
    for listener in ordered:
        entry = _judge(listener, by_want, requests, refusing)
        held.setdefault(_place(listener.entry), (listener.owner, entry))
    collisions = tuple(sorted(set(_collisions(requests, held))))
    finished = {pod.full_name: replace(read(pod), wants=()) for pod in all_pods if not pod.wants_ports}
    published = _PublishedPorts(pool, rules, held, requests | finished)
    published.add_wanted()
    published.add_unwanted()
    for group in sorted(groups, key=lambda group: group.entry):
        held.setdefault(_place(group.entry), (group.owner, replace(group.entry, state=EntryState.RELEASING)))
    return RebuiltLedger(_by_owner(held), collisions, tuple(sorted(doubtful | published.doubtful)))


def _read_pod(pool: str, rules: RebuildRules, registered: Mapping[Place, Collection[str]], pod: PodView) -> _PodRequest:
    wants: tuple[Want, ...] | None
    try:
        requested = wants_of(pod, rules.default_spec) if pod.opted_in else ()
        wants = tuple(widen_to_segment(want, rules.segment) for want in requested if want.pool == pool)
    except RequestError:
        wants = None
    keys = frozenset(key for want in wants or () for key in want.keys)
    ports = [port for row in parse_endpoints(pod.outputs.endpoints) if row.pool == pool for port in row.port_by_port()]
    rows = {(port.lb, port.port): port for port in ports}
    offered = {place: row for place, row in rows.items() if rules.offered(place)}
    served = frozenset(
        place
        for place, row in offered.items()
        if any(target_text(ip, row.container_port) in registered.get(place, ()) for ip in pod.ips)
    )
    return _PodRequest(pod, wants, offered, keys, served)


def _place(entry: Entry) -> Place:
    return entry.lb, entry.port


def _given_away(listener: TaggedEntry, requests: Mapping[str, _PodRequest]) -> bool:
    """Whether another pod is served there: a worker died before it replaced the tags of the previous owner."""
    place = _place(listener.entry)
    return listener.shared and any(place in rival.served for rival in _rivals(listener, requests))


def _rivals(listener: TaggedEntry, requests: Mapping[str, _PodRequest]) -> Iterator[_PodRequest]:
    """Pods that ask for the place and publish it, while its tags name another pod."""
    place = _place(listener.entry)
    others = (request for name, request in requests.items() if name != listener.owner and place in request.shown)
    return (request for request in others if request.want_at(place))


def _want_id(listener: TaggedEntry) -> WantId:
    return listener.owner, listener.entry.uid, listener.entry.want


def _judge(
    listener: TaggedEntry,
    by_want: Mapping[WantId, list[Entry]],
    requests: Mapping[str, _PodRequest],
    refusing: Collection[str],
) -> Entry:
    """The entry of a listener; `by_want` has the entries of all listeners for one want, this one included."""
    request = requests.get(listener.owner)
    entry = listener.entry
    if not request or request.pod.uid != entry.uid:
        has_its_own = request and (listener.owner, request.pod.uid, entry.want) in by_want
        return _judge_dead(listener, request, refused=bool(has_its_own) or listener.owner in refusing)
    if not request.asks_for(entry.want):
        return replace(entry, state=EntryState.RELEASING)
    best = min(by_want[_want_id(listener)], key=lambda rival: (_place(rival) not in request.shown, rival))
    if _place(best) != _place(entry):
        return replace(entry, state=EntryState.RELEASING)
    return replace(entry, state=EntryState.BOUND, target=_target(request, _place(entry)))


def _judge_dead(listener: TaggedEntry, request: _PodRequest | None, refused: bool) -> Entry:
    """The entry of a listener whose pod is gone; `request` is that of a new pod of its name.

    A retained entry has no end yet: a run sets it once nothing is registered any more.
    """
    entry = listener.entry
    if request and request.wants is not None:
        asks = entry.want in request.keys and not refused
        if asks and (entry.retain or _place(entry) in request.shown):
            return replace(entry, state=EntryState.RETAINED, uid=request.pod.uid)
        return replace(entry, state=EntryState.RELEASING)
    if entry.retain and not refused:
        return replace(entry, state=EntryState.RETAINED)
    return replace(entry, state=EntryState.RELEASING)


def _target(request: _PodRequest, place: Place) -> str:
    """The target that was registered when the pod was published; '' if unknown, then a run registers it again."""
    return request.shown[place].target if place in request.shown else ""


def _collisions(requests: Mapping[str, _PodRequest], held: Held) -> Iterable[Place]:
    for name, request in requests.items():
        for place in request.shown.keys() & held.keys():
            owner, entry = held[place]
            if owner != name and entry.state is EntryState.BOUND:
                yield place


class _PublishedPorts:
    """Adds to `held` the ports that are only published.

    A pod that is registered at a place comes first, then pods in order of their names.
    """

    def __init__(self, pool: str, rules: RebuildRules, held: Held, requests: Mapping[str, _PodRequest]) -> None:
        self._pool, self._rules, self._held = pool, rules, held
        self._bound = {(owner, entry.want) for owner, entry in held.values() if entry.state is EntryState.BOUND}
        self._used = Counter(owner.partition("/")[0] for owner, _ in held.values())
        rows = [(name, request, place) for name, request in requests.items() for place in request.shown]
        served = {place for request in requests.values() for place in request.served}
        free = [row for row in rows if row[2] not in held]
        publishers = Counter(place for _, _, place in free)
        self.doubtful = {place for place, number in publishers.items() if number > 1}
        entitled = [row for row in free if row[2] in row[1].served or row[2] not in served]
        self._rows = sorted(entitled, key=lambda row: (row[2] not in served, row[0], row[2]))

    def add_wanted(self) -> None:
        """Add one place for each want."""
        for name, request, place in self._rows:
            want = request.want_at(place)
            if want and place not in self._held and (name, want) not in self._bound:
                self._add(name, request, place, Entry(self._pool, *place, want, request.pod.uid, EntryState.BOUND))

    def add_unwanted(self) -> None:
        """Add what a pod publishes and does not ask for: its own run takes it off the pod, then releases it.

        A pod whose annotation cannot be read keeps what it publishes.
        """
        for name, request, place in self._rows:
            row = request.shown[place]
            key = f"{row.container_port}/{row.protocol}"
            if place in self._held or request.want_at(place) or (name, key) in self._bound:
                continue
            state = EntryState.BOUND if request.wants is None else EntryState.RELEASING
            entry = Entry(self._pool, *place, key, request.pod.uid, state, target=row.target)
            self._add(name, request, place, entry)

    def _add(self, name: str, request: _PodRequest, place: Place, entry: Entry) -> None:
        namespace = request.pod.namespace
        full = self._rules.share is not None and self._used[namespace] >= self._rules.share
        if place not in request.served and (full or namespace in self._rules.barred):
            self.doubtful.add(place)
            entry = replace(entry, state=EntryState.RELEASING)
        self._held[place] = (name, entry)
        self._used[namespace] += 1
        if entry.state is EntryState.BOUND:
            self._bound.add((name, entry.want))


def _by_owner(held: Held) -> dict[str, tuple[Entry, ...]]:
    owners: dict[str, list[Entry]] = {}
    for owner, entry in held.values():
        owners.setdefault(owner, []).append(entry)
    return {owner: tuple(sorted(entries)) for owner, entries in owners.items()}
