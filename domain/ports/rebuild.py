"""What the ledger of a pool must be, from the world alone: listeners and target groups by their tags, pods by their annotations.

A live tag is bound (of several for one want the published one, else the first; the others are releasing); an annotation without a
listener is bound and will get its listener again; a dead tag or a lone target group is releasing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from domain.ports.endpoints import shown
from domain.ports.entry import Entry, EntryState
from domain.ports.pod import PORTS, PodView, PortsState
from domain.ports.request import RequestError, Want, parse_ports

Place = tuple[str, int]  # load balancer, port


@dataclass(frozen=True)
class Found:
    """A listener (or lone target group) of ours: `owner` is the namespace/name in its tag, `entry` what its tags and ARNs say."""

    owner: str
    entry: Entry


@dataclass(frozen=True)
class Rebuilt:
    """`owners`: name -> entries. `collisions`: places that one pod publishes and another's live listener holds."""

    owners: dict[str, tuple[Entry, ...]]
    collisions: tuple[Place, ...]


@dataclass(frozen=True)
class _Claim:
    """What one pod asks of this pool and publishes from it."""

    pod: PodView
    wants: dict[str, Want]
    shown: dict[Place, str]  # place -> want key


def rebuild(
    pool: str, listeners: Iterable[Found], groups: Iterable[Found], pods: Iterable[PodView], default_spec: str = ""
) -> Rebuilt:
    """Total: tags and annotations are whatever they are."""
    claims = {c.pod.full_name: c for pod in pods if (c := _claim(pool, pod, default_spec))}
    found = sorted(listeners, key=lambda f: f.entry)
    held: dict[Place, tuple[str, Entry]] = {}
    for item in found:
        held.setdefault(_place(item.entry), (item.owner, _judged(item, found, claims)))
    collisions = tuple(sorted(_annotated(pool, claims, held)))
    for item in sorted(groups, key=lambda f: f.entry):
        held.setdefault(_place(item.entry), (item.owner, replace(item.entry, state=EntryState.RELEASING)))
    return Rebuilt(_by_owner(held), collisions)


def _claim(pool: str, pod: PodView, default_spec: str) -> _Claim | None:
    if not pod.wants_ports:
        return None
    try:
        wants = parse_ports(pod.annotations[PORTS], default_spec)
    except RequestError:
        wants = ()
    mine = {w.key: w for w in wants if w.pool == pool}
    by_port = {w.port: key for key, w in mine.items()}
    rows = [row for row in shown(pod.outputs.endpoints) if row.pool == pool]
    return _Claim(pod, mine, {(row.lb, row.port): by_port.get(row.container_port, "") for row in rows})


def _place(entry: Entry) -> Place:
    return entry.lb, entry.port


def _judged(item: Found, all_found: list[Found], claims: Mapping[str, _Claim]) -> Entry:
    claim = claims.get(item.owner)
    entry = item.entry
    if not claim or claim.pod.uid != entry.uid or entry.want not in claim.wants:
        return replace(entry, state=EntryState.RELEASING)
    rivals = [f.entry for f in all_found if f.owner == item.owner and (f.entry.uid, f.entry.want) == (entry.uid, entry.want)]
    best = min(rivals, key=lambda e: (_place(e) not in claim.shown, e))
    if _place(best) != _place(entry):
        return replace(entry, state=EntryState.RELEASING)
    return replace(entry, state=EntryState.BOUND, target=_target(claim, entry))


def _target(claim: _Claim, entry: Entry) -> str:
    """What a published, bound pod has registered; '' where nobody knows, then it is registered again."""
    pod = claim.pod
    bound = pod.outputs.state == PortsState.BOUND and _place(entry) in claim.shown
    return f"{pod.ip}:{claim.wants[entry.want].port}" if bound and pod.ip and pod.enabled else ""


def _annotated(pool: str, claims: Mapping[str, _Claim], held: dict[Place, tuple[str, Entry]]) -> Iterable[Place]:
    """Adds what is only published; yields what is published by one and held by another."""
    served = {(owner, e.want) for owner, e in held.values() if e.state is EntryState.BOUND}
    for name, claim in sorted(claims.items()):
        for place, want in sorted(claim.shown.items()):
            if place not in held and want in claim.wants and (name, want) not in served:
                held[place] = (name, Entry(pool, place[0], place[1], want, claim.pod.uid, EntryState.BOUND))
            elif place in held and held[place][0] != name and held[place][1].state is EntryState.BOUND:
                yield place


def _by_owner(held: Mapping[Place, tuple[str, Entry]]) -> dict[str, tuple[Entry, ...]]:
    owners: dict[str, list[Entry]] = {}
    for owner, entry in held.values():
        owners.setdefault(owner, []).append(entry)
    return {owner: tuple(sorted(entries)) for owner, entries in owners.items()}
