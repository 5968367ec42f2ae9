"""The differences between the ledger, the cloud and the pods of one pool, each with its remedy.

Pure: the audit reads all three, asks here, and repairs or prints. Each question is a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from domain.kubernetes.names import PREFIX
from domain.port_audit.difference import Difference, DifferenceKind, Remedy
from domain.port_audit.rebuild import Place
from domain.port_audit.sides import AuditedLoadBalancer, CloudResource, CloudSide, LedgerSide, OwnedEntry
from domain.ports.endpoints import published_ids
from domain.ports.entry import Entry, EntryState
from domain.ports.pod import PodView

IN_USE = (EntryState.ALLOCATED, EntryState.BOUND)
WITH_LISTENER = (*IN_USE, EntryState.RETAINED)
Tags = Mapping[str, str]


@dataclass(frozen=True)
class Comparison:
    """All that an audit compares.

    `pods` are the live ones, by namespace/name. `tags_of` says what the listener of an owner's entry should carry,
    `stock_tags_of` the same for a precreated one. Runs change the tags `fluid`: they are restored only when absent.
    """

    pool: str
    cloud: CloudSide
    ledger: LedgerSide
    pods: Mapping[str, PodView]
    tags_of: Callable[[str, Entry], Tags]
    stock_tags_of: Callable[[Place], Tags] = lambda _: {}
    fluid: frozenset[str] = frozenset()

    def publishes(self, owner: str, entry: Entry) -> bool:
        """Whether the very pod that the entry names publishes its port."""
        return self.lives(owner, entry) and entry.id in published_ids(self.pods[owner].outputs.endpoints)

    def lives(self, owner: str, entry: Entry) -> bool:
        """Whether the very pod that the entry names lives and wants ports."""
        pod = self.pods.get(owner)
        return bool(pod and pod.uid == entry.uid and pod.wants_ports)

    def displaced(self, place: Place) -> bool:
        """Whether the ledger names a listener for the place that the cloud does not have."""
        owned = self.ledger.steady.get(place)
        return bool(owned and owned[1].listener and owned[1].listener not in self.cloud.by_arn)


def differences(comparison: Comparison) -> tuple[Difference, ...]:
    """All differences, in order of load balancer and port."""
    questions = (
        _load_balancers,
        _foreign_listeners,
        _listeners,
        _stock,
        _tags,
        _leftovers,
        _lone,
        _owners,
        _published,
        _targets,
    )
    return tuple(sorted({difference for question in questions for difference in question(comparison)}))


def lost_tags(wanted: Tags, actual: Tags) -> dict[str, str]:
    """The wanted tags that are absent or have another value."""
    return {key: value for key, value in wanted.items() if actual.get(key) != value}


def _load_balancers(comparison: Comparison) -> Iterator[Difference]:
    recorded, actual = comparison.ledger.balancers, comparison.cloud.balancers
    unusable = comparison.cloud.unusable
    for lb in recorded.values():
        if lb.name not in actual and (lb.created or lb.arn in unusable):
            ports = sum(place[0] == lb.name for place in comparison.ledger.after)
            remedy = Remedy.RECHECK if lb.open or not ports else Remedy.NONE
            why = unusable[lb.arn].reason if lb.arn in unusable else "there is no such load balancer"
            detail = f"{why}; {ports} ports are held on it"
            yield _about_load_balancer(comparison, lb, DifferenceKind.MISSING, detail, remedy)
    for arn in unusable.keys() - {lb.arn for lb in (*recorded.values(), *actual.values())}:
        name, reason = unusable[arn].name, unusable[arn].reason
        yield Difference(comparison.pool, name, 0, DifferenceKind.MISSING, "", reason, Remedy.NONE, arn)
    for lb in actual.values():
        if lb.created and lb.open and lb.name not in recorded:
            detail = "a load balancer of ours outside the ledger"
            yield _about_load_balancer(comparison, lb, DifferenceKind.ORPHAN, detail, Remedy.ADOPT)
        if lb.lost:
            detail = _lacks("load balancer", lb.lost)
            yield _about_load_balancer(comparison, lb, DifferenceKind.LOST_TAGS, detail, Remedy.RETAG)


def _foreign_listeners(comparison: Comparison) -> Iterator[Difference]:
    kind, remedy = DifferenceKind.FOREIGN, Remedy.RECHECK
    for lb in comparison.cloud.balancers.values():
        if not (recorded := comparison.ledger.balancers.get(lb.name)):
            continue
        for port in lb.foreign - recorded.foreign:
            if not comparison.ledger.has((lb.name, port)):  # otherwise the run of its pod detects it
                detail = "a listener of others that the ledger does not know"
                yield _about_load_balancer(comparison, lb, kind, detail, remedy, port)
        for port in recorded.foreign - lb.foreign:
            yield _about_load_balancer(comparison, lb, kind, "the listener of others is gone", remedy, port)
        if None not in (lb.capacity, recorded.capacity) and lb.capacity != recorded.capacity:
            detail = f"has room for {lb.capacity} listeners of ours, the ledger says {recorded.capacity}"
            yield _about_load_balancer(comparison, lb, kind, detail, remedy)


def _listeners(comparison: Comparison) -> Iterator[Difference]:
    for owned in comparison.ledger.steady.values():
        entry = owned[1]
        if entry.state not in WITH_LISTENER or not entry.listener or entry.lb not in comparison.cloud.balancers:
            continue
        if (entry.lb, entry.port) in comparison.ledger.stock:
            continue
        listener = comparison.cloud.by_arn.get(entry.listener)
        if listener is None:
            kind, detail = _displacement(comparison.cloud.by_place.get((entry.lb, entry.port)))
            yield _about_entry(comparison, owned, kind, detail, Remedy.REBIND, entry.listener)
        elif entry.target_group and listener.target_group != entry.target_group:
            detail = "the listener forwards to something else than its target group"
            yield _about_entry(comparison, owned, DifferenceKind.MISSING, detail, Remedy.REBIND, entry.listener)


def _displacement(other: CloudResource | None) -> tuple[DifferenceKind, str]:
    """Describe what stands at the place of a listener that is gone: the pod's run decides by the tag rule."""
    if other is None:
        return DifferenceKind.MISSING, "the listener is gone"
    if other.tagged is None:
        return DifferenceKind.FOREIGN, "a listener of others took its place"
    return DifferenceKind.COLLISION, f"a listener of {other.tagged.owner} took its place"


def _stock(comparison: Comparison) -> Iterator[Difference]:
    """Report precreated listeners that are gone or forward elsewhere, also where a pod has the port."""
    for (lb, port), (listener_arn, group) in comparison.ledger.stock.items():
        listener = comparison.cloud.by_arn.get(listener_arn)
        if lb not in comparison.cloud.balancers or (listener and listener.target_group == group):
            continue
        owner, entry = comparison.ledger.steady.get((lb, port), ("", None))
        elsewhere, gone = "the precreated listener forwards elsewhere", "the precreated listener is gone"
        kind, detail = DifferenceKind.MISSING, elsewhere if listener else gone
        yield Difference(comparison.pool, lb, port, kind, owner, detail, Remedy.RESTOCK, listener_arn, entry)


def _tags(comparison: Comparison) -> Iterator[Difference]:
    for place, (owner, entry) in comparison.ledger.steady.items():
        handed_over = entry.state is EntryState.RETAINED and not entry.until  # tagged once no foreign target is left
        if place not in comparison.ledger.stock and not handed_over:
            wanted = comparison.tags_of(owner, entry)
            yield from _lost_tags(comparison, place, (entry.listener, entry.target_group), wanted, owner, entry)
    for place, arns in comparison.ledger.stock.items():
        yield from _lost_tags(comparison, place, arns, comparison.stock_tags_of(place))


def _lost_tags(
    comparison: Comparison,
    place: Place,
    arns: tuple[str, str],
    wanted: Tags,
    owner: str = "",
    entry: Entry | None = None,
) -> Iterator[Difference]:
    for what, arn in zip(("listener", "target group"), arns, strict=True):
        resource = comparison.cloud.by_arn.get(arn)
        if not resource:
            continue
        stays = comparison.fluid & resource.tags.keys()
        if lost := lost_tags({key: value for key, value in wanted.items() if key not in stays}, resource.tags):
            kind, detail = DifferenceKind.LOST_TAGS, _lacks(what, lost)
            yield Difference(comparison.pool, *place, kind, owner, detail, Remedy.RETAG, arn, entry, lost)


def _leftovers(comparison: Comparison) -> Iterator[Difference]:
    """Resources that are ours by their tags, and in no entry."""
    for resource in comparison.cloud.listeners + comparison.cloud.groups:
        if not resource.tagged or resource.arn in comparison.ledger.arns:
            continue
        if resource.target_group and comparison.displaced(resource.place):
            continue
        owned = (resource.tagged.owner, resource.tagged.entry)
        if not comparison.ledger.has(resource.place) and comparison.publishes(*owned):
            detail = "its pod publishes the port and the ledger has no entry"
            yield _about_entry(comparison, owned, DifferenceKind.MISSING, detail, Remedy.REBUILD, resource.arn)
        else:
            detail = "a listener of nobody" if owned[1].listener else "a target group of nobody"
            yield _about_entry(comparison, owned, DifferenceKind.ORPHAN, detail, Remedy.REMOVE, resource.arn)


def _lone(comparison: Comparison) -> Iterator[Difference]:
    """Report what is ours, in no entry, and names no pod.

    A load balancer was blocked, or left the pool, before its precreated target group had a listener. Or somebody
    removed tags, and the ledger was lost before an audit restored them. A run decides about the listener of its port.
    """
    kind = DifferenceKind.ORPHAN
    for resource in comparison.cloud.listeners + comparison.cloud.groups:
        if not resource.lone or resource.arn in comparison.ledger.arns:
            continue
        if not resource.target_group:
            detail = f"the target group {resource.arn} of nobody, without a listener"
            yield Difference(comparison.pool, *resource.place, kind, "", detail, Remedy.DISCARD, resource.arn)
        elif not comparison.ledger.has(resource.place):
            detail = f"the listener {resource.arn} of nobody, without tags that name a pod"
            yield Difference(comparison.pool, *resource.place, kind, "", detail, Remedy.CLOSE, resource.arn)


def _owners(comparison: Comparison) -> Iterator[Difference]:
    for owned in comparison.ledger.steady.values():
        if owned[1].state in IN_USE and not comparison.lives(*owned):
            detail = "the pod that has the port is gone, or asks for nothing any more"
            yield _about_entry(comparison, owned, DifferenceKind.ORPHAN, detail, Remedy.RUN)


def _published(comparison: Comparison) -> Iterator[Difference]:
    """At most one difference a pod: its run mends all of them."""
    for name, pod in comparison.pods.items():
        if pod.wants_ports and (first := next(_wrongly_published(comparison, name, pod), None)):
            yield first


def _wrongly_published(comparison: Comparison, name: str, pod: PodView) -> Iterator[Difference]:
    for pool, lb, port in sorted(published_ids(pod.outputs.endpoints)):
        place, listener = (lb, port), comparison.cloud.by_place.get((lb, port))
        if pool != comparison.pool:
            continue
        owner = comparison.ledger.steady.get(place, ("",))[0]
        if owner and owner != name:
            detail = f"publishes a port of {owner}"
            yield Difference(pool, *place, DifferenceKind.COLLISION, name, detail, Remedy.RUN)
        elif not comparison.ledger.has(place) and not (listener and listener.tagged and listener.tagged.owner == name):
            detail = "publishes a port that it does not hold"
            yield Difference(pool, *place, DifferenceKind.MISSING, name, detail, Remedy.RUN)


def _targets(comparison: Comparison) -> Iterator[Difference]:
    for owned in comparison.ledger.steady.values():
        entry = owned[1]
        registered = comparison.cloud.targets.get(entry.target_group)
        if registered is None or entry.state not in WITH_LISTENER or entry.tried:  # tried: a run is changing it
            continue
        for target in registered - {entry.target}:
            yield _about_target(comparison, owned, DifferenceKind.STALE_TARGET, target)
        if entry.target and entry.target not in registered:
            yield _about_target(comparison, owned, DifferenceKind.MISSING_TARGET, entry.target)
    for place, (_, group) in comparison.ledger.stock.items():
        for target in () if comparison.ledger.has(place) else comparison.cloud.targets.get(group, ()):
            kind, detail = DifferenceKind.STALE_TARGET, f"{target} is registered for a port of nobody"
            yield Difference(comparison.pool, *place, kind, "", detail, Remedy.DEREGISTER, group, target=target)


def _about_target(comparison: Comparison, owned: OwnedEntry, kind: DifferenceKind, target: str) -> Difference:
    """The run of the pod mends it under its lease: only that knows what it has registered and not recorded yet.

    No pod has a run for a retained port; the run of the pod that inherits the port compares the targets again.
    """
    remedy = Remedy.DEREGISTER if owned[1].state is EntryState.RETAINED else Remedy.COMPARE
    detail = f"{target} is registered" if kind is DifferenceKind.STALE_TARGET else f"{target} is not registered"
    return _about_entry(comparison, owned, kind, detail, remedy, owned[1].target_group, target)


def _about_load_balancer(
    comparison: Comparison, lb: AuditedLoadBalancer, kind: DifferenceKind, detail: str, remedy: Remedy, port: int = 0
) -> Difference:
    return Difference(comparison.pool, lb.name, port, kind, "", detail, remedy, lb.arn, tags=lb.lost)


def _about_entry(
    comparison: Comparison,
    owned: OwnedEntry,
    kind: DifferenceKind,
    detail: str,
    remedy: Remedy,
    arn: str = "",
    target: str = "",
) -> Difference:
    owner, entry = owned
    return Difference(comparison.pool, entry.lb, entry.port, kind, owner, detail, remedy, arn, entry, target=target)


def _lacks(what: str, lost: Tags) -> str:
    return f"{what} without the tags {', '.join(sorted(name.removeprefix(PREFIX) for name in lost))}"
