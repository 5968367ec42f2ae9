"""Listeners that exist before any pod: which ports of a load balancer they have, and who can use which.

The layout follows from the spec alone, so that whoever fills a load balancer after a crash makes the same: from the
pool's first port upward TCP, then UDP, then TCPUDP.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from domain.port_pools.port_pool import PortPoolSpec
from domain.ports.want import Protocol, Want

LISTENERS: Final = (Protocol.TCP, Protocol.UDP, Protocol.TCPUDP)
SERVES: Final = {Protocol.QUIC: Protocol.UDP}
"""Another word for the listener of a protocol. TLS has none: its certificate is the pod's."""


def ports_of(spec: PortPoolSpec) -> dict[Protocol, range]:
    """The ports of each load balancer that have such a listener."""
    first, found = spec.start_port, dict[Protocol, range]()
    for protocol, count in zip(LISTENERS, kinds(spec) or (0, 0, 0), strict=True):
        found[protocol], first = range(first, first + count), first + count
    return found


def listener_of(spec: PortPoolSpec, port: int) -> Protocol | None:
    """The protocol of the listener that belongs on a port."""
    return next((protocol for protocol, ports in ports_of(spec).items() if port in ports), None)


def kind_of(protocol: Protocol) -> int:
    """The number of its listeners' kind, from 1 on in the order of the layout."""
    return LISTENERS.index(SERVES.get(protocol, protocol)) + 1


def kinds(spec: PortPoolSpec) -> tuple[int, ...]:
    """How many listeners of each kind a load balancer has; () in a pool without precreated ones."""
    counts = spec.precreate
    return (counts.tcp, counts.udp, counts.tcp_udp) if counts.total else ()


def asks(spec: PortPoolSpec, wants: Iterable[Want]) -> list[tuple[str, int] | tuple[str, int, int]]:
    """What the ledger is asked for: key, ports in a row and, in a pool of precreated listeners, their kind."""
    if not spec.precreate.total:
        return [(want.key, want.ports) for want in wants]
    return [(want.key, want.ports, kind_of(want.protocol)) for want in wants]


def uncovered(spec: PortPoolSpec, wants: Iterable[Want]) -> str | None:
    """Why the precreated listeners can never serve these wants of the pool, None when they can."""
    asked = dict[Protocol, list[int]]()
    for want in wants if spec.precreate.total else ():
        asked.setdefault(SERVES.get(want.protocol, want.protocol), []).append(want.ports)
    return next((why for protocol, runs in asked.items() if (why := _uncovered(spec, protocol, runs))), None)


def _uncovered(spec: PortPoolSpec, protocol: Protocol, runs: Sequence[int]) -> str | None:
    there, most = len(ports_of(spec).get(protocol, ())), spec.most_load_balancers
    if not there:
        return f"{protocol} is asked for and precreate has no {protocol} listeners ({_said(spec)})"
    if max(runs) > there:
        return f"{max(runs)} {protocol} ports in a row are asked for and a load balancer of the pool has {there}"
    if sum(runs) > there * most or sum(2 * run > there for run in runs) > most:
        return f"{sum(runs)} {protocol} ports are asked for and the pool can never have more than {most} x {there}"
    return None


def _said(spec: PortPoolSpec) -> str:
    return ", ".join(f"{protocol} {len(ports)}" for protocol, ports in ports_of(spec).items())


def in_turns(spec: PortPoolSpec, ports: Sequence[int]) -> Iterator[int]:
    """The order in which missing listeners are made: of each protocol in turn, for any may be waited for."""
    spans = ports_of(spec).values()
    return iter(sorted(ports, key=lambda port: (min((port - s.start for s in spans if port in s), default=0), port)))
