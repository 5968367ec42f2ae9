"""The pages of a port pool, a load balancer and a pod, from what `berthmaster explain` reads."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from domain.ports.entry import Entry
from domain.quantity import quantity
from workers.cli.explain import lines as pod_lines
from workers.cli.explain import pool_lines
from workers.cli.port_pools import lines as port_pool_lines
from workers.fleet_pages.document import Cell, Document, line, page_of
from workers.fleet_pages.readers import FleetReaders
from workers.fleet_pages.strips import Place, port_strips, since
from workers.port_pools.explain import port_pool_state
from workers.ports.explain import LoadBalancerCandidate, PortPoolExplanation, explain_pod
from workers.stores.ports.audit_memory import AuditMemory
from workers.stores.ports.view import entries_of_owner, owners, place_in_line, view
from workers.stores.slots.pod_records import PodSlots
from workers.stores.slots.view import view as slots_view

PLACES: Final = ("load balancer", "port", "state", "of", "for", "target", "since")
CANDIDATES: Final = ("load balancer", "in use", "can carry", "listeners of others", "why not")
WAITING: Final = ("pod", "ports", "since", "place in line", "why", "last error of AWS")
MOST_WAITING: Final = 100


def port_pool(readers: FleetReaders, name: str) -> Document | None:
    """Return the page of a port pool, None if it has no ledger."""
    ledger = readers.ledger(name)
    pool = port_pool_state(ledger)
    if pool is None:
        return None
    document = Document(f"Port pool {name}")
    document.lines(port_pool_lines(pool))
    places = _places(readers, name)
    port_strips(document, ledger, view(ledger).load_balancers, places)
    rows = list(_candidates(name, pool.load_balancers))
    document.table("Load balancers", CANDIDATES, rows)
    document.table("Waiting pods", WAITING, _waiting(readers, name))
    document.table("Ports in use", PLACES, [_place(owner, entry) for entry, owner in places])
    differences = [[line(difference)] for difference in AuditMemory(readers.redis).differences(ledger.prefix)]
    document.table("Differences that the last audit found", ("difference",), differences)
    return document


def load_balancer(readers: FleetReaders, pool: str, name: str) -> Document | None:
    """Return the page of a load balancer, None if the pool has no such one."""
    ledger = readers.ledger(pool)
    lb = next((lb for lb in view(ledger).load_balancers if lb.name == name), None)
    if lb is None:
        return None
    document = Document(f"Load balancer {name}", facts=[("port pool", page_of("portpool", pool))])
    document.fact("name in DNS", lb.dns)
    document.fact("ARN", lb.arn)
    document.fact("ports", f"{lb.used} of {lb.capacity} in use" + (", it is being removed" if lb.retiring else ""))
    document.fact("ports with listeners of others", *lb.foreign)
    places = [place for place in _places(readers, pool) if place[0].lb == name]
    port_strips(document, ledger, (lb,), places)
    document.table("Ports in use", PLACES, [_place(owner, entry) for entry, owner in places], most=2000)
    return document


def pod(readers: FleetReaders, namespace: str, name: str) -> Document | None:
    """Return the page of a pod: its ports, and its slots. None: Redis has nothing of it."""
    document, key = Document(f"Pod {namespace}/{name}"), f"pod/{namespace}/{name}"
    explanation = explain_pod(readers, namespace, name)
    if explanation.pod or explanation.pools:
        document.lines(pod_lines(explanation))
        for pool in explanation.pools:
            document.lines(pool_lines(pool, explanation))
            document.table(f"Ports of {pool.name}", PLACES, [_place(f"{namespace}/{name}", e) for e in pool.entries])
            document.table(f"Load balancers of {pool.name}", CANDIDATES, list(_candidates_of(pool)))
    _without_snapshot(readers, document, f"{namespace}/{name}", {pool.name for pool in explanation.pools})
    for pod_pool, entry in _slots_of(readers, namespace, name):
        _slots(document, pod_pool, entry)
    if not (document.facts or document.tables):
        return None
    history(readers, document, key)
    return document


def _without_snapshot(readers: FleetReaders, document: Document, name: str, shown: set[str]) -> None:
    """Add what the other port pools have of the name: the pod may be gone, or its snapshot lost."""
    for pool in sorted(set(readers.port_pools) - shown):
        ledger = readers.ledger(pool)
        if entries := entries_of_owner(ledger, name):
            document.table(f"Ports of {pool}", PLACES, [_place(name, entry) for entry in entries])
        if place := place_in_line(ledger, name):
            document.fact(f"waits in port pool {pool}", f"for {quantity(place.ports, 'port')}, {place.ahead} before it")


def _slots_of(readers: FleetReaders, namespace: str, name: str) -> Iterator[tuple[str, PodSlots]]:
    """Yield the pod pools of the namespace that have a pod of this name in their slot ledger."""
    for pool in readers.pod_pools:
        if pool.startswith(f"{namespace}/"):
            yield from ((pool, pod) for pod in slots_view(readers.slots(pool)).all_pods if pod.name == name)


def _slots(document: Document, pool: str, pod_slots: PodSlots) -> None:
    document.facts.append(("pod pool", page_of("podpool", pool)))
    silent = f"last report {pod_slots.silent.total_seconds():.0f} s ago"
    document.fact("in the slot ledger", pod_slots.view, silent)
    cells = zip(pod_slots.layout, pod_slots.states, pod_slots.slots, strict=True)
    rows = [(takes, state or "-", page_of("job", f"{pool}/{job}", job) if job else "-") for takes, state, job in cells]
    document.table("Slots", ("accepts", "state", "job"), rows)


def history(readers: FleetReaders, document: Document, key: str) -> None:
    """Add the latest events about a key."""
    rows = [
        (line(event.get("time")), line(event.get("type")).removeprefix("dev.berthmaster."), line(_message(event)))
        for event in readers.history(key)
    ]
    document.table("History", ("time", "event", "message"), rows)


def _message(event: dict[str, Any]) -> object:
    return (event.get("data") or {}).get("message")


def _candidates(pool: str, lbs: tuple[LoadBalancerCandidate, ...]) -> Iterator[list[Cell]]:
    for lb in lbs:
        numbers = (str(lb.used), str(lb.capacity), str(lb.foreign))
        yield [page_of("lb", f"{pool}/{lb.name}", lb.name), *numbers, line(lb.why_not or "-")]


def _candidates_of(pool: PortPoolExplanation) -> Iterator[list[Cell]]:
    return _candidates(pool.name, pool.candidates)


def _places(readers: FleetReaders, pool: str) -> list[Place]:
    places = [(entry, owner) for owner, entries in owners(readers.ledger(pool)) for entry in entries]
    return sorted(places, key=lambda place: (place[0].lb, place[0].port))


def _place(owner: str, entry: Entry) -> list[Cell]:
    lb = page_of("lb", f"{entry.pool}/{entry.lb}", entry.lb)
    rest = (line(entry.want), line(entry.target or "-"), since(entry))
    return [lb, str(entry.port), entry.state.value, page_of("pod", owner), *rest]


def _waiting(readers: FleetReaders, pool: str) -> Iterator[list[Cell]]:
    """Yield the pods that wait, in the order of the line; those that were woken come first."""
    pipe, prefix = readers.redis.pipeline(transaction=True), readers.ledger(pool).prefix
    pipe.hgetall(f"{prefix}demand")
    pipe.zrange(f"{prefix}waiting", 0, -1)
    pipe.hkeys(f"{prefix}cap")
    demands, line_up, capped = pipe.execute()
    places = {name: place for place, name in enumerate(line_up, 1)}
    for name in sorted(demands, key=lambda name: (places.get(name, 0), name))[:MOST_WAITING]:
        ports, joined, *_ = demands[name].decode().split(":")
        owner, since = name.decode(), f"{datetime.fromtimestamp(int(joined) / 1000, UTC):%F %T}Z"
        trouble = readers.troubles.last(f"pod/{owner}")
        error = f"{trouble.action}: {trouble.reason}" if trouble else "-"
        place = str(places.get(name, "woken"))
        yield [page_of("pod", owner), ports, since, place, _why_waiting(readers, owner, name in capped), line(error)]


def _why_waiting(readers: FleetReaders, owner: str, capped: bool) -> str:
    """Return what the pod itself says, and whether it waits for its namespace alone."""
    pod = readers.pods.read(*owner.split("/"))
    share = ["its namespace has its share of the pool"] if capped else []
    return line("; ".join([*share, *([pod.outputs.message] if pod and pod.outputs.message else [])]) or "-")
