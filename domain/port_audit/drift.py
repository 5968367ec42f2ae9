"""What the ledger, AWS and the pods say differently about one pool, and what mends it.

Pure: the audit reads all three, asks here, and repairs or prints. Each question is a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from domain.kubernetes.names import PREFIX
from domain.port_audit.difference import Difference, Kind, Remedy
from domain.port_audit.rebuild import Place
from domain.port_audit.sides import Balancer, Books, Cloud, Owned, Piece
from domain.ports.endpoints import published_ids
from domain.ports.entry import Entry, EntryState
from domain.ports.pod import PodView

IN_USE = (EntryState.ALLOCATED, EntryState.BOUND)
STANDING = (*IN_USE, EntryState.RETAINED)
Tags = Mapping[str, str]


@dataclass(frozen=True)
class Compared:
    """`pods`: those that live, by namespace/name. `tags_of`: what the listener of an owner's entry should carry."""

    pool: str
    cloud: Cloud
    books: Books
    pods: Mapping[str, PodView]
    tags_of: Callable[[str, Entry], Tags]
    stock_tags_of: Callable[[Place], Tags] = lambda _: {}
    fluid: frozenset[str] = frozenset()  # tags that runs change: restored only where they are not there at all

    def shows(self, owner: str, entry: Entry) -> bool:
        """Whether the very pod that the entry names publishes its port."""
        return self.lives(owner, entry) and entry.id in published_ids(self.pods[owner].outputs.endpoints)

    def lives(self, owner: str, entry: Entry) -> bool:
        pod = self.pods.get(owner)
        return bool(pod and pod.uid == entry.uid and pod.wants_ports)

    def displaced(self, place: Place) -> bool:
        """Whether the ledger has another listener there than AWS."""
        owned = self.books.steady.get(place)
        return bool(owned and owned[1].listener and owned[1].listener not in self.cloud.by_arn)


def differences(seen: Compared) -> tuple[Difference, ...]:
    questions = (_balancers, _strangers, _listeners, _stock, _tags, _leftovers, _lone, _owners, _published, _targets)
    return tuple(sorted({difference for question in questions for difference in question(seen)}))


def lost_tags(wanted: Tags, there: Tags) -> dict[str, str]:
    return {key: value for key, value in wanted.items() if there.get(key) != value}


def _balancers(seen: Compared) -> Iterator[Difference]:
    known, there = seen.books.balancers, seen.cloud.balancers
    for lb in known.values():
        if lb.name not in there and (lb.created or lb.arn in seen.cloud.unusable):
            ports = sum(place[0] == lb.name for place in seen.books.after)
            remedy = Remedy.RECHECK if lb.open or not ports else Remedy.NONE
            why = seen.cloud.unusable.get(lb.arn, "AWS knows no such load balancer")
            yield _of(seen, lb, Kind.MISSING, f"{why}; {ports} ports are held on it", remedy)
    for arn in seen.cloud.unusable.keys() - {lb.arn for lb in (*known.values(), *there.values())}:
        name = arn.split("/")[-2] if arn.count("/") > 1 else arn
        yield Difference(seen.pool, name, 0, Kind.MISSING, "", seen.cloud.unusable[arn], Remedy.NONE, arn)
    for lb in there.values():
        if lb.created and lb.open and lb.name not in known:
            yield _of(seen, lb, Kind.ORPHAN, "a load balancer of ours outside the ledger", Remedy.ADOPT)
        if lb.lost:
            yield _of(seen, lb, Kind.LOST_TAGS, _without("load balancer", lb.lost), Remedy.RETAG)


def _strangers(seen: Compared) -> Iterator[Difference]:
    for lb in seen.cloud.balancers.values():
        if not (known := seen.books.balancers.get(lb.name)):
            continue
        for port in lb.foreign - known.foreign:
            if not seen.books.has((lb.name, port)):  # else its pod's run finds out
                told = "a listener of others that the ledger does not know"
                yield _of(seen, lb, Kind.FOREIGN, told, Remedy.RECHECK, port)
        for port in known.foreign - lb.foreign:
            yield _of(seen, lb, Kind.FOREIGN, "the listener of others is gone", Remedy.RECHECK, port)
        if None not in (lb.capacity, known.capacity) and lb.capacity != known.capacity:
            told = f"has room for {lb.capacity} listeners of ours, the ledger says {known.capacity}"
            yield _of(seen, lb, Kind.FOREIGN, told, Remedy.RECHECK)


def _listeners(seen: Compared) -> Iterator[Difference]:
    for owned in seen.books.steady.values():
        entry = owned[1]
        if entry.state not in STANDING or not entry.listener or entry.lb not in seen.cloud.balancers:
            continue
        if (entry.lb, entry.port) in seen.books.stock:
            continue
        there = seen.cloud.by_arn.get(entry.listener)
        if there is None:
            kind, told = _displacement(seen.cloud.by_place.get((entry.lb, entry.port)))
            yield _about(seen, owned, kind, told, Remedy.REBIND, entry.listener)
        elif entry.target_group and there.target_group != entry.target_group:
            told = "the listener forwards to something else than its target group"
            yield _about(seen, owned, Kind.MISSING, told, Remedy.REBIND, entry.listener)


def _displacement(other: Piece | None) -> tuple[Kind, str]:
    """The pod's run decides about a listener in the way, by the tag rule."""
    if other is None:
        return Kind.MISSING, "AWS does not have the listener"
    if other.found is None:
        return Kind.FOREIGN, "a listener of others took its place"
    return Kind.COLLISION, f"a listener of {other.found.owner} took its place"


def _stock(seen: Compared) -> Iterator[Difference]:
    """What was precreated is there, whoever has the port."""
    for (lb, port), (listener, group) in seen.books.stock.items():
        there = seen.cloud.by_arn.get(listener)
        if lb not in seen.cloud.balancers or (there and there.target_group == group):
            continue
        owner, entry = seen.books.steady.get((lb, port), ("", None))
        told = "the precreated listener forwards elsewhere" if there else "AWS does not have the precreated listener"
        yield Difference(seen.pool, lb, port, Kind.MISSING, owner, told, Remedy.RESTOCK, listener, entry)


def _tags(seen: Compared) -> Iterator[Difference]:
    for place, (owner, entry) in seen.books.steady.items():
        handed_over = entry.state is EntryState.RETAINED and not entry.until  # tagged only once strangers are off it
        if place not in seen.books.stock and not handed_over:
            wanted = seen.tags_of(owner, entry)
            yield from _bare(seen, place, (entry.listener, entry.target_group), wanted, owner, entry)
    for place, arns in seen.books.stock.items():
        yield from _bare(seen, place, arns, seen.stock_tags_of(place))


def _bare(
    seen: Compared, place: Place, arns: tuple[str, str], wanted: Tags, owner: str = "", entry: Entry | None = None
) -> Iterator[Difference]:
    for what, arn in zip(("listener", "target group"), arns, strict=True):
        there = seen.cloud.by_arn.get(arn)
        stays = seen.fluid & there.tags.keys() if there else ()
        if there and (lost := lost_tags({k: v for k, v in wanted.items() if k not in stays}, there.tags)):
            told = _without(what, lost)
            yield Difference(seen.pool, *place, Kind.LOST_TAGS, owner, told, Remedy.RETAG, arn, entry, lost)


def _leftovers(seen: Compared) -> Iterator[Difference]:
    """Ours by their tags, and in no entry."""
    for piece in seen.cloud.listeners + seen.cloud.groups:
        if not piece.found or piece.arn in seen.books.arns or (piece.target_group and seen.displaced(piece.place)):
            continue
        owned = (piece.found.owner, piece.found.entry)
        if not seen.books.has(piece.place) and seen.shows(*owned):
            told = "its pod publishes the port and the ledger has no entry"
            yield _about(seen, owned, Kind.MISSING, told, Remedy.REBUILD, piece.arn)
        else:
            told = "a listener of nobody" if owned[1].listener else "a target group of nobody"
            yield _about(seen, owned, Kind.ORPHAN, told, Remedy.REMOVE, piece.arn)


def _lone(seen: Compared) -> Iterator[Difference]:
    """Its listener was never made: the load balancer was blocked, or left the pool, while it was being filled."""
    for piece in seen.cloud.groups:
        if piece.lone and piece.arn not in seen.books.arns:
            told = "a precreated target group without a listener"
            yield Difference(seen.pool, *piece.place, Kind.ORPHAN, "", told, Remedy.DISCARD, piece.arn)


def _owners(seen: Compared) -> Iterator[Difference]:
    for owned in seen.books.steady.values():
        if owned[1].state in IN_USE and not seen.lives(*owned):
            told = "the pod that has the port is gone, or asks for nothing any more"
            yield _about(seen, owned, Kind.ORPHAN, told, Remedy.RUN)


def _published(seen: Compared) -> Iterator[Difference]:
    """One a pod: its run mends all."""
    for name, pod in seen.pods.items():
        if pod.wants_ports and (found := next(_not_its_own(seen, name, pod), None)):
            yield found


def _not_its_own(seen: Compared, name: str, pod: PodView) -> Iterator[Difference]:
    for pool, lb, port in sorted(published_ids(pod.outputs.endpoints)):
        place, there = (lb, port), seen.cloud.by_place.get((lb, port))
        if pool != seen.pool:
            continue
        owner = seen.books.steady.get(place, ("",))[0]
        if owner and owner != name:
            yield Difference(pool, *place, Kind.COLLISION, name, f"publishes a port of {owner}", Remedy.RUN)
        elif not seen.books.has(place) and not (there and there.found and there.found.owner == name):
            yield Difference(pool, *place, Kind.MISSING, name, "publishes a port that it does not hold", Remedy.RUN)


def _targets(seen: Compared) -> Iterator[Difference]:
    for owned in seen.books.steady.values():
        entry = owned[1]
        there = seen.cloud.targets.get(entry.target_group)
        if there is None or entry.state not in STANDING or entry.tried:  # tried: a run is at it
            continue
        for other in there - {entry.target}:
            yield _aimed(seen, owned, Kind.STALE_TARGET, other)
        if entry.target and entry.target not in there:
            yield _aimed(seen, owned, Kind.MISSING_TARGET, entry.target)
    for place, (_, group) in seen.books.stock.items():
        for other in () if seen.books.has(place) else seen.cloud.targets.get(group, ()):
            told = f"{other} is registered for a port of nobody"
            place_of = (seen.pool, *place)
            yield Difference(*place_of, Kind.STALE_TARGET, "", told, Remedy.DEREGISTER, group, target=other)


def _aimed(seen: Compared, owned: Owned, kind: Kind, target: str) -> Difference:
    """Mended by its pod's run, under its lease: only that knows what it has registered and not recorded yet.

    A retained port has no run; the one that inherits it looks again.
    """
    remedy = Remedy.DEREGISTER if owned[1].state is EntryState.RETAINED else Remedy.COMPARE
    told = f"{target} is registered" if kind is Kind.STALE_TARGET else f"{target} is not registered"
    return _about(seen, owned, kind, told, remedy, owned[1].target_group, target)


def _of(seen: Compared, lb: Balancer, kind: Kind, told: str, remedy: Remedy, port: int = 0) -> Difference:
    return Difference(seen.pool, lb.name, port, kind, "", told, remedy, lb.arn, tags=lb.lost)


def _about(
    seen: Compared, owned: Owned, kind: Kind, told: str, remedy: Remedy, arn: str = "", target: str = ""
) -> Difference:
    owner, entry = owned
    return Difference(seen.pool, entry.lb, entry.port, kind, owner, told, remedy, arn, entry, target=target)


def _without(what: str, lost: Tags) -> str:
    return f"{what} without the tags {', '.join(sorted(name.removeprefix(PREFIX) for name in lost))}"
