"""Ports and slots as cells: one letter a cell, which the pages draw as a sign of a shape and a colour."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from domain.ports.entry import EntryState
from workers.stores.ports.pool_ledger import PoolLoadBalancer
from workers.stores.slots.pod_records import PodSlots

FREE, FOREIGN, RETIRING = ".", "f", "x"
PORT_LETTERS: Final = {
    EntryState.ALLOCATED: "a",
    EntryState.BOUND: "b",
    EntryState.RELEASING: "r",
    EntryState.RETAINED: "k",
}
SLOT_LETTERS: Final = {"running": "r", "reserved": "s"}
IDLE: Final = {"open": "i", "new": "n", "away": "w", "claimed": "m"}
"""View of a pod -> letter of its slots without a job: idle, booting, away, claimed. Of other views: closed."""
CLOSED: Final = "c"

Taken = Iterable[tuple[int, EntryState]]
"""Ports of one load balancer with an entry, and their states."""


def port_cells(lb: PoolLoadBalancer, ports: range, taken: Taken) -> str:
    """Return the cells of a load balancer.

    Each port of the pool has its own place if the load balancer can give them all. Otherwise the ports in use come
    first, in order, and then as many free ones as it can still give.
    """
    free = RETIRING if lb.retiring else FREE
    letters = dict.fromkeys(lb.foreign, FOREIGN) | {port: PORT_LETTERS[state] for port, state in taken}
    if _gives_all(lb, ports):
        return "".join([letters.get(port, free) for port in ports])
    return "".join(letters[port] for port in sorted(letters)) + free * max(0, lb.capacity - lb.used)


def port_places(lb: PoolLoadBalancer, ports: range, in_use: Iterable[int]) -> dict[int, int]:
    """Return which of the load balancer's cells, from 0, is that of each port in use."""
    if _gives_all(lb, ports):
        return {port: ports.index(port) for port in in_use if port in ports}
    return {port: place for place, port in enumerate(sorted({*lb.foreign, *in_use}))}


def _gives_all(lb: PoolLoadBalancer, ports: range) -> bool:
    return lb.capacity + len(lb.foreign) >= len(ports)


def slot_cells(pod: PodSlots) -> str:
    """Return the cells of a pod, one a slot. A pod without slots, as claims take it, is one cell."""
    return _slot_cells(pod.view, pod.states)


@lru_cache(maxsize=4096)
def _slot_cells(view: str, states: tuple[str, ...]) -> str:
    return "".join([SLOT_LETTERS.get(state) or IDLE.get(view, CLOSED) for state in states or ("",)])
