"""Decides the next step for the ports of one pod, from what the run has observed.

Pure and total: the worker observes, asks here, does the step and asks again, until a Stop. The order of the questions
is the protocol:

- What must be given back goes first, and a port leaves the pod's outputs before it is released.
- What was bound stays served, whatever the rest of the request waits for.
- A result is published only after a fenced confirmation of this run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from domain.kubernetes.names import PORTS_ENABLED, PORTS_MESSAGE
from domain.port_pools.port_pool import PoolState
from domain.ports.backend import HEALTHY, family_name
from domain.ports.endpoints import amend_endpoints, format_endpoints, published_ids
from domain.ports.entry import Entry, EntryState
from domain.ports.holding import by_key, entries_to_keep
from domain.ports.observation import EntryIds, ObservedPorts
from domain.ports.pod import LIMITS, Outputs, PodView, PortsState
from domain.ports.retention import RetentionPlan, entries_to_relabel, plan_retention
from domain.ports.same_port import Group, same_port_groups, settled_port, unused_ids
from domain.ports.steps import (
    Allocate,
    AllocateSamePort,
    CheckHealth,
    Clear,
    Confirm,
    Disable,
    Inherit,
    LeaveWaitingList,
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
from domain.ports.want import container_port
from domain.quantity import quantity

MISSING_POOL = timedelta(seconds=60)
WAITING_POD = timedelta(minutes=5)  # for its address: the watch wakes the pod, this is the safety net
REBUILDING = timedelta(seconds=1)


def next_step(observed: ObservedPorts) -> Step:
    """Decide the one thing to do now."""
    for question in (_rebuilding, _give_back, _without_request, _maintain, _refused, _acquire, _bind):
        if step := question(observed):
            return step
    return _show_result(observed)


def after_cloud_error(observed: ObservedPorts, state: PortsState, reason: str) -> Step:
    """The step after a cloud call for a held port has failed.

    `state`: ALLOCATED while the call will be tried again, FAILED when a person must act.
    """
    return _show(observed, state, reason, None)


def _rebuilding(observed: ObservedPorts) -> Step | None:
    """Wait for a ledger that is being rebuilt. Only a pod that shows nothing yet is told why it waits."""
    pool = next((p for p, state in sorted(observed.pools.items()) if state is PoolState.NOT_READY), None)
    if not pool:
        return None
    reason = f"the ledger of pool {pool} is being rebuilt"
    if observed.pod and observed.wants and not observed.pod.outputs.state:
        return Show(Outputs(PortsState.PENDING, observed.pod.outputs.endpoints, reason[: LIMITS[PORTS_MESSAGE]]))
    return Stop(REBUILDING, reason)


def _give_back(observed: ObservedPorts) -> Step | None:
    """Give back entries that the pod is not entitled to: of other UIDs, of withdrawn wants, surplus, or releasing.

    Entries of pods that are gone may stay for the next pod of the name.
    """
    keep = _ids_in_use(observed)
    surplus = [e for e in observed.entries if e.id not in keep]
    if not surplus:
        return None
    giving = {p: s for p, s in observed.pools.items() if p not in observed.barred or s is PoolState.DELETING}
    plan = plan_retention(
        surplus, observed.pod, observed.unmet_wants, giving, bool(observed.problem), observed.to_compare
    )
    to_release = [e for e in surplus if e not in plan.staying]
    inherit = Inherit(plan.first_to_inherit) if plan.inherit else None
    return _return_one(observed, to_release, keep) or inherit or _retain_one(observed, plan, keep)


def _retain_one(observed: ObservedPorts, plan: RetentionPlan, keep: EntryIds) -> Step | None:
    """Retain an entry; a pod that has ended but still exists stops showing the port first."""
    if not plan.retain:
        return None
    return _unpublish(observed, min(plan.retain), keep) or Retain(min(plan.retain))


def _return_one(observed: ObservedPorts, entries: list[Entry], keep: EntryIds) -> Step | None:
    """Give back one of `entries`, a releasing one first."""
    if not entries:
        return None
    entry = min(entries, key=lambda e: (e.state is not EntryState.RELEASING, e.id not in observed.fresh, e))
    if entry.id in observed.fresh:
        return Rollback(entry)
    return _unpublish(observed, entry, keep) or Release(entry)


def _unpublish(observed: ObservedPorts, entry: Entry, keep: EntryIds) -> Step | None:
    """Clear the entry from its own pod's outputs, if it shows there."""
    if observed.pod and entry.uid == observed.pod.uid and not _is_cleared(observed.pod, entry):
        message = f"port {entry.port} of pool {entry.pool} is being released"
        return Clear(entry, _outputs(observed, PortsState.RELEASING, message, keep))
    return None


def _ids_in_use(observed: ObservedPorts) -> EntryIds:
    """The entries that serve a want. A mistake in the annotation costs nothing that is held."""
    if not observed.pod:
        return frozenset()
    held, published = observed.held, observed.published
    if observed.problem:
        return frozenset(e.id for entries in held.values() for e in entries)
    keep = frozenset(e.id for want in observed.wants for e in entries_to_keep(want, held, published))
    groups = _groups(observed)
    if not groups:
        return keep
    available = by_key(
        e for e in observed.entries if e.uid == observed.pod.uid or e.state is EntryState.RETAINED or e.retain
    )
    return keep - unused_ids(groups, held, available, published)


def _groups(observed: ObservedPorts) -> tuple[Group, ...]:
    return same_port_groups(observed.wants) if observed.pod and observed.pod.same_port else ()


def _is_cleared(pod: PodView, entry: Entry) -> bool:
    """Whether this version of the pod says that the port goes: its write made every older run fail to publish."""
    return pod.outputs.state == PortsState.RELEASING and entry.id not in published_ids(pod.outputs.endpoints)


def _without_request(observed: ObservedPorts) -> Step | None:
    """Take a pod that is gone, or asks for nothing, off the waiting lists, and clear its outputs."""
    wanted = set() if observed.problem else {w.pool for w in observed.unmet_wants} - observed.barred.keys()
    if stale := sorted(observed.waiting - wanted):
        return LeaveWaitingList(stale[0])
    if not observed.pod or (not observed.wants and not observed.problem):
        clean = not observed.pod or observed.pod.shows(Outputs())
        return Stop(None, "nothing is asked for") if clean else Show(Outputs())
    return None


def _maintain(observed: ObservedPorts) -> Step | None:
    """Keep bound ports served: follow the pod's address and isolation, and replace a lost listener."""
    served = [e for e in observed.own_entries if e.state in (EntryState.BOUND, EntryState.RETAINED)]
    return _point_at_pod(observed, served) or _relabel(observed, served)


def _relabel(observed: ObservedPorts, entries: list[Entry]) -> Step | None:
    outdated = () if observed.problem else entries_to_relabel(entries, observed.retain)
    return Relabel(outdated, observed.retain) if outdated else None


def _refused(observed: ObservedPorts) -> Step | None:
    """Give back ports that never carried traffic while the request cannot be met as a whole.

    Otherwise two pods could each hold what the other waits for. Bound ports stay: players may be connected.
    """
    refusal = _refusal(observed)
    if not refusal:
        return None
    idle = [] if observed.problem else [e for e in observed.own_entries if e.state is EntryState.ALLOCATED]
    keep = frozenset(e.id for e in observed.own_entries) - {e.id for e in idle}
    return _return_one(observed, idle, keep) or _show(observed, *refusal)


def _refusal(observed: ObservedPorts) -> tuple[PortsState, str, timedelta | None] | None:
    if observed.problem:
        return PortsState.FAILED, observed.problem, observed.recheck if observed.pools_refuse else None
    lacking = {w.pool for w in observed.unmet_wants}
    if missing := sorted(p for p in lacking if observed.pools.get(p, PoolState.MISSING) is PoolState.MISSING):
        return PortsState.POOL_NOT_FOUND, f"there is no PortPool {missing[0]}", MISSING_POOL
    if closed := sorted(p for p in lacking if p in observed.barred or observed.pools[p] is not PoolState.ACTIVE):
        why = observed.barred.get(closed[0]) or f"PortPool {closed[0]} is {observed.pools[closed[0]]}"
        return PortsState.POOL_NOT_ALLOCATABLE, why, MISSING_POOL
    if lacking and observed.full and observed.refusal:
        return PortsState.NO_PORT_AVAILABLE, observed.refusal, observed.recheck
    return None


def _acquire(observed: ObservedPorts) -> Step | None:
    lacking = observed.unmet_wants
    if not lacking:
        return None
    for group in _groups(observed):
        if missing := tuple(w for w in group if w in lacking):
            return AllocateSamePort(missing, settled_port(group, observed.held))
    pool = min(w.pool for w in lacking)
    return Allocate(pool, tuple(w for w in lacking if w.pool == pool))


def _bind(observed: ObservedPorts) -> Step | None:
    """Bind what is allocated. Many ports take a while: a pod that denies them says first that it has them now."""
    assert observed.pod
    step, ports = _point_at_pod(observed, observed.own_entries), len(observed.own_entries)
    if step and ports > 1 and observed.pod.outputs.denies_ports:
        return _show(observed, PortsState.ALLOCATED, f"{quantity(ports, 'port is', 'ports are')} being bound", None)
    return step


def _point_at_pod(observed: ObservedPorts, entries: Sequence[Entry]) -> Step | None:
    """Provision each entry: its listener first, its target when the pod has an address."""
    assert observed.pod
    for entry in entries:
        port = container_port(entry.want)
        if port is None:  # a tag edited by hand, kept while the annotation cannot be read
            continue
        ip = observed.pod.address(observed.backend(entry.pool).family)
        target = target_text(ip, port) if ip and observed.pod.enabled else ""
        uncertain = bool(entry.tried) or entry.id in observed.to_compare
        if not observed.pod.enabled and (entry.target or uncertain):
            return Disable(entry)
        settled = entry.listener and entry.target == target and (not target or entry.state is EntryState.BOUND)
        if uncertain or not settled:
            return Provision(entry, target)
    return None


def _show_result(observed: ObservedPorts) -> Step:
    assert observed.pod
    if not observed.pod.enabled:
        return _show(observed, PortsState.DISABLED, f"isolated by {PORTS_ENABLED}=false", None)
    families = sorted({observed.backend(e.pool).family for e in observed.own_entries})
    if missing := [family for family in families if not observed.pod.address(family)]:
        message = f"waiting for an {family_name(missing[0])} address of the pod"
        return _show(observed, PortsState.WAIT_BACKEND, message, WAITING_POD)
    own = frozenset(e.id for e in observed.own_entries)
    outputs = _outputs(observed, PortsState.BOUND, observed.pod.warnings, own)
    if observed.pod.shows(outputs) and all(e.state is EntryState.BOUND for e in observed.own_entries):
        return Stop(None, "bound")
    if step := _unhealthy(observed):
        return step
    return Show(outputs) if own <= observed.confirmed else Confirm(observed.own_entries)


def _unhealthy(observed: ObservedPorts) -> Step | None:
    """Wait until every target is healthy, in pools that publish only healthy targets."""
    for entry in observed.own_entries:
        backend, health = observed.backend(entry.pool), observed.health.get(entry.id)
        if not backend.healthy or health == HEALTHY:
            continue
        if health is None:
            return CheckHealth(entry)
        message = f"waiting for the target of port {entry.port} to be healthy, it is {health}"
        step = _show(observed, PortsState.WAIT_BACKEND, message, backend.next_check(observed.health_checks))
        return replace(step, counted=True) if isinstance(step, Stop) else step
    return None


def _show(observed: ObservedPorts, state: PortsState, message: str, wait: timedelta | None) -> Step:
    """Show the state, or stop when it is shown already. Published ports that are held stay published."""
    assert observed.pod
    outputs = _outputs(observed, state, message, frozenset(e.id for e in observed.own_entries))
    return Stop(wait, message) if observed.pod.shows(outputs) else Show(outputs)


def _outputs(observed: ObservedPorts, state: PortsState, message: str | None, keep: EntryIds) -> Outputs:
    """The outputs for the state. Only BOUND publishes ports that were not published before."""
    assert observed.pod
    message = message[: LIMITS[PORTS_MESSAGE]] if message else None
    held = [e for e in observed.own_entries if e.id in keep]
    if state is PortsState.BOUND:
        return Outputs(state, format_endpoints(observed.wants, held, observed.dns_names), message)
    return Outputs(state, amend_endpoints(observed.pod.outputs.endpoints, held), message)
