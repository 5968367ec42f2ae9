"""Pictures of cells on the pages of single objects: of each load balancer's ports, and of a pod pool's slots.

Each cell knows who has it, but no more of them than the table beside has rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime

from domain.ports.entry import Entry
from workers.fleet_pages.cells import port_cells, port_places, slot_cells
from workers.fleet_pages.document import MOST, Document, Held, path_to
from workers.scale_up.pool_config import decode_config
from workers.stores.ports.ledger import Ledger
from workers.stores.ports.pool_ledger import PoolLoadBalancer, PortPoolLedger
from workers.stores.slots.view import SlotsView

Place = tuple[Entry, str]
"""A port in use, and who has it."""


def port_strips(document: Document, ledger: Ledger, lbs: Iterable[PoolLoadBalancer], places: Iterable[Place]) -> None:
    """Add the cells of each load balancer. `places`: the ports in use, in the order of their table."""
    config = decode_config(PortPoolLedger(ledger).config())
    if config is None:
        return
    of_lb: dict[str, list[Place]] = defaultdict(list)
    for place in places:
        of_lb[place[0].lb].append(place)
    left, ports = MOST, config.spec.ports
    for lb in lbs:
        taken = of_lb[lb.name]
        numbers = port_places(lb, ports, [entry.port for entry, _ in taken])
        held = [(numbers[e.port], _words(e, owner), path_to("pod", owner)) for e, owner in taken if e.port in numbers]
        cells = port_cells(lb, ports, [(entry.port, entry.state) for entry, _ in taken])
        document.strip("ports", lb.name, [cells], held[:left], path_to("lb", f"{ledger.pool}/{lb.name}"))
        left = max(0, left - len(held))


def _words(entry: Entry, owner: str) -> str:
    return f"{entry.port}: {owner}, {entry.state.value} since {since(entry)}"


def since(entry: Entry) -> str:
    """Return when it was allocated, by the token of that run: microseconds of Redis's clock, and a nonce."""
    micros = entry.token.partition("-")[0]
    return f"{datetime.fromtimestamp(int(micros) / 1e6, UTC):%F %T}Z" if micros.isdecimal() else "-"


def slot_strip(document: Document, pool: str, slots: SlotsView) -> None:
    """Add a cell for each slot of a pod pool, pod after pod."""
    held, groups, first = list[Held](), list[str](), 0
    for pod in sorted(slots.all_pods, key=lambda pod: pod.name):
        for number, (job, state) in enumerate(zip(pod.slots, pod.states, strict=True)):
            if job:
                words = f"slot {number + 1} of {pod.name}: {job}, {state}"
                held.append((first + number, words, path_to("job", f"{pool}/{job}")))
        groups.append(slot_cells(pod))
        first += len(groups[-1])
    if groups:
        document.strip("slots", f"Slots of {pool}", groups, held[:MOST])
