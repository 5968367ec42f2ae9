"""Every decision about one pod's ports: what to do next, from what the run has seen.

Pure and total: the worker observes, asks here, does the step, observes the result, asks again, until a Stop. The order
of the questions is the protocol: what must be given back goes first, an output is cleared before its port is released,
what was bound stays served whatever the rest waits for, and a result is published only after a fenced confirmation of
this run.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from domain.kubernetes.names import PORTS_ENABLED, PORTS_MESSAGE
from domain.port_pools.port_pool import PoolState
from domain.ports.backend import HEALTHY, in_words
from domain.ports.endpoints import amended, endpoints, published
from domain.ports.entry import Entry, EntryState
from domain.ports.holding import by_key, serving, whole
from domain.ports.observation import Ids, Observed
from domain.ports.pod import LIMITS, Outputs, PodView, PortsState
from domain.ports.retention import Left, left_by_the_dead, mislabelled
from domain.ports.same_port import Group, groups, settled_port, unseen
from domain.ports.steps import (
    Allocate,
    AllocateTogether,
    Clear,
    Confirm,
    Disable,
    Inherit,
    Leave,
    Look,
    Provision,
    Relabel,
    Release,
    Retain,
    Rollback,
    Show,
    Step,
    Stop,
)
from domain.ports.target import target_text
from domain.ports.want import Want, container_port

MISSING_POOL = timedelta(seconds=60)
WAITING_POD = timedelta(minutes=5)  # for its address: the wake-up comes by the watch; this is the safety net
REBUILDING = timedelta(seconds=1)


def next_step(seen: Observed) -> Step:
    """The one thing to do now."""
    for question in (_rebuilding, _give_back, _without_request, _maintain, _refused, _acquire, _bind):
        if step := question(seen):
            return step
    return _show_result(seen)


def after_cloud_error(seen: Observed, state: PortsState, reason: str) -> Step:
    """What to show when a cloud call for a held port failed.

    `state`: ALLOCATED while it will be tried again, FAILED when a person must act.
    """
    return _show(seen, state, reason, None)


def _rebuilding(seen: Observed) -> Step | None:
    """Nothing is granted and nothing changed; only a pod that shows nothing yet is told why it waits."""
    pool = next((p for p, state in sorted(seen.pools.items()) if state is PoolState.NOT_READY), None)
    if not pool:
        return None
    reason = f"the ledger of pool {pool} is being rebuilt"
    if seen.pod and seen.wants and not seen.pod.outputs.state:
        return Show(Outputs(PortsState.PENDING, seen.pod.outputs.endpoints, reason[: LIMITS[PORTS_MESSAGE]]))
    return Stop(REBUILDING, reason)


def _give_back(seen: Observed) -> Step | None:
    """Entries that nobody of this name is entitled to: of other UIDs, of withdrawn wants, surplus, or releasing.

    What was left by pods that are gone may stay for the next of their name.
    """
    keep = _kept(seen)
    surplus = [e for e in seen.entries if e.id not in keep]
    giving = {p: s for p, s in seen.pools.items() if p not in seen.barred or s is PoolState.DELETING}
    left = left_by_the_dead(surplus, seen.pod, _lacking(seen), giving, bool(seen.problem), seen.due)
    going = [e for e in surplus if e not in left.stay]
    inherit = Inherit(left.first_heirs) if left.inherit else None
    return _returned(seen, going, keep) or inherit or _retained(seen, left, keep)


def _retained(seen: Observed, left: Left, keep: Ids) -> Step | None:
    """An ended pod that still exists is shown without the port first."""
    if not left.retain:
        return None
    return _taken_off(seen, min(left.retain), keep) or Retain(min(left.retain))


def _returned(seen: Observed, entries: list[Entry], keep: Ids) -> Step | None:
    """Gives back one of `entries`, those first that are on their way already."""
    if not entries:
        return None
    entry = min(entries, key=lambda e: (e.state is not EntryState.RELEASING, e.id not in seen.fresh, e))
    if entry.id in seen.fresh:
        return Rollback(entry)
    return _taken_off(seen, entry, keep) or Release(entry)


def _taken_off(seen: Observed, entry: Entry, keep: Ids) -> Step | None:
    """Its own pod must not show a port that goes."""
    if seen.pod and entry.uid == seen.pod.uid and not _cleared(seen.pod, entry):
        message = f"port {entry.port} of pool {entry.pool} is being released"
        return Clear(entry, _outputs(seen, PortsState.RELEASING, message, keep))
    return None


def _kept(seen: Observed) -> Ids:
    """What serves a want. A mistake in the annotation costs nothing held."""
    if not seen.pod:
        return frozenset()
    held = by_key(_own(seen))
    if seen.problem:
        return frozenset(e.id for entries in held.values() for e in entries)
    shown = published(seen.pod.outputs.endpoints)
    keep = frozenset(e.id for want in seen.wants for e in serving(want, held, shown))
    coming = by_key(e for e in seen.entries if e.uid == seen.pod.uid or e.state is EntryState.RETAINED or e.retain)
    return keep - unseen(_tied(seen), held, coming, shown)


def _tied(seen: Observed) -> tuple[Group, ...]:
    return groups(seen.wants) if seen.pod and seen.pod.same_port else ()


def _own(seen: Observed) -> list[Entry]:
    return sorted(e for e in seen.entries if seen.pod and e.uid == seen.pod.uid)


def _lacking(seen: Observed) -> list[Want]:
    held = by_key(_own(seen))
    return [w for w in seen.wants if not whole(w, held)]


def _cleared(pod: PodView, entry: Entry) -> bool:
    """True once this version of the pod says that the port goes: that write made every older run fail to publish."""
    return pod.outputs.state == PortsState.RELEASING and entry.id not in published(pod.outputs.endpoints)


def _without_request(seen: Observed) -> Step | None:
    """A pod that is gone or asks for nothing leaves the lists and shows nothing."""
    wanted = set() if seen.problem else {w.pool for w in _lacking(seen)} - seen.barred.keys()
    if stale := sorted(seen.waiting - wanted):
        return Leave(stale[0])
    if not seen.pod or (not seen.wants and not seen.problem):
        clean = not seen.pod or seen.pod.shows(Outputs())
        return Stop(None, "nothing is asked for") if clean else Show(Outputs())
    return None


def _maintain(seen: Observed) -> Step | None:
    """What was bound follows its pod (address, isolation, lost listener), whatever else the request waits for."""
    served = [e for e in _own(seen) if e.state in (EntryState.BOUND, EntryState.RETAINED)]
    return _aim(seen, served) or _relabelled(seen, served)


def _relabelled(seen: Observed, entries: list[Entry]) -> Step | None:
    old = () if seen.problem else mislabelled(entries, seen.retain)
    return Relabel(old, seen.retain) if old else None


def _refused(seen: Observed) -> Step | None:
    """All wants or none: what never carried traffic is given back while the request cannot be met as a whole.

    Else two pods could each hold what the other waits for. What was bound stays: players may be connected.
    """
    refusal = _refusal(seen)
    if not refusal:
        return None
    idle = [] if seen.problem else [e for e in _own(seen) if e.state is EntryState.ALLOCATED]
    keep = frozenset(e.id for e in _own(seen)) - {e.id for e in idle}
    return _returned(seen, idle, keep) or _show(seen, *refusal)


def _refusal(seen: Observed) -> tuple[PortsState, str, timedelta | None] | None:
    if seen.problem:
        return PortsState.FAILED, seen.problem, seen.recheck if seen.of_pools else None
    lacking = {w.pool for w in _lacking(seen)}
    if missing := sorted(p for p in lacking if seen.pools.get(p, PoolState.MISSING) is PoolState.MISSING):
        return PortsState.POOL_NOT_FOUND, f"there is no PortPool {missing[0]}", MISSING_POOL
    if closed := sorted(p for p in lacking if p in seen.barred or seen.pools[p] is not PoolState.ACTIVE):
        why = seen.barred.get(closed[0]) or f"PortPool {closed[0]} is {seen.pools[closed[0]]}"
        return PortsState.POOL_NOT_ALLOCATABLE, why, MISSING_POOL
    return (PortsState.NO_PORT_AVAILABLE, seen.refusal, seen.recheck) if lacking and seen.full else None


def _acquire(seen: Observed) -> Step | None:
    lacking = _lacking(seen)
    if not lacking:
        return None
    for group in _tied(seen):
        if missing := tuple(w for w in group if w in lacking):
            return AllocateTogether(missing, settled_port(group, by_key(_own(seen))))
    pool = min(w.pool for w in lacking)
    return Allocate(pool, tuple(w for w in lacking if w.pool == pool))


def _bind(seen: Observed) -> Step | None:
    return _aim(seen, _own(seen))


def _aim(seen: Observed, entries: list[Entry]) -> Step | None:
    """Listener first, address when there is one."""
    assert seen.pod
    for entry in entries:
        port = container_port(entry.want)
        if port is None:  # a tag edited by hand, kept while the annotation cannot be read
            continue
        ip = seen.pod.address(seen.backend(entry.pool).family)
        target = target_text(ip, port) if ip and seen.pod.enabled else ""
        unsure = bool(entry.tried) or entry.id in seen.due
        if not seen.pod.enabled and (entry.target or unsure):
            return Disable(entry)
        settled = entry.listener and entry.target == target and (not target or entry.state is EntryState.BOUND)
        if unsure or not settled:
            return Provision(entry, target)
    return None


def _show_result(seen: Observed) -> Step:
    assert seen.pod
    if not seen.pod.enabled:
        return _show(seen, PortsState.DISABLED, f"isolated by {PORTS_ENABLED}=false", None)
    families = sorted({seen.backend(e.pool).family for e in _own(seen)})
    if missing := [family for family in families if not seen.pod.address(family)]:
        message = f"waiting for an {in_words(missing[0])} address of the pod"
        return _show(seen, PortsState.WAIT_BACKEND, message, WAITING_POD)
    own = frozenset(e.id for e in _own(seen))
    outputs = _outputs(seen, PortsState.BOUND, seen.pod.warnings, own)
    if seen.pod.shows(outputs) and all(e.state is EntryState.BOUND for e in _own(seen)):
        return Stop(None, "bound")
    if step := _unhealthy(seen):
        return step
    return Show(outputs) if own <= seen.confirmed else Confirm(tuple(_own(seen)))


def _unhealthy(seen: Observed) -> Step | None:
    """Where the pool asks for it, nothing is published before every target is healthy."""
    for entry in _own(seen):
        backend, word = seen.backend(entry.pool), seen.health.get(entry.id)
        if not backend.healthy or word == HEALTHY:
            continue
        if word is None:
            return Look(entry)
        message = f"waiting for the target of port {entry.port} to be healthy, it is {word}"
        step = _show(seen, PortsState.WAIT_BACKEND, message, backend.next_look(seen.looks))
        return replace(step, counted=True) if isinstance(step, Stop) else step
    return None


def _show(seen: Observed, state: PortsState, message: str, wait: timedelta | None) -> Step:
    """Write the state once, then stop. What is already published for held ports stays published."""
    assert seen.pod
    outputs = _outputs(seen, state, message, frozenset(e.id for e in _own(seen)))
    return Stop(wait, message) if seen.pod.shows(outputs) else Show(outputs)


def _outputs(seen: Observed, state: PortsState, message: str, keep: Ids) -> Outputs:
    """Only a bound pod is shown ports that it was not shown before."""
    assert seen.pod
    message = message[: LIMITS[PORTS_MESSAGE]]
    held = [e for e in _own(seen) if e.id in keep]
    if state is PortsState.BOUND:
        return Outputs(state, endpoints(seen.wants, held, seen.dns_names), message)
    return Outputs(state, amended(seen.pod.outputs.endpoints, held), message)
