"""Precreated listeners: which ports of a load balancer have one, and which wants each can serve.

The layout follows from the spec alone, so that a run after a crash creates the same: from the pool's first port upward
TCP, then UDP, then TCPUDP.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from domain.port_pools.port_pool import PortPoolSpec
from domain.ports.want import Protocol, Want

LISTENERS: Final = (Protocol.TCP, Protocol.UDP, Protocol.TCPUDP)
LISTENER_PROTOCOL: Final = {Protocol.QUIC: Protocol.UDP}
"""The listener that serves a protocol, where it has another name. TLS has none: its certificate is the pod's."""


def ports_of(spec: PortPoolSpec) -> dict[Protocol, range]:
    """The ports of a load balancer that have a listener of each protocol."""
    first, ports = spec.start_port, dict[Protocol, range]()
    for protocol, count in zip(LISTENERS, kinds(spec) or (0, 0, 0), strict=True):
        ports[protocol], first = range(first, first + count), first + count
    return ports


def listener_of(spec: PortPoolSpec, port: int) -> Protocol | None:
    """The protocol of the listener that belongs on a port, None when there is none."""
    return next((protocol for protocol, ports in ports_of(spec).items() if port in ports), None)


def kind_of(protocol: Protocol) -> int:
    """The number of a listener kind, from 1 on in the order of the layout."""
    return LISTENERS.index(LISTENER_PROTOCOL.get(protocol, protocol)) + 1


def kinds(spec: PortPoolSpec) -> tuple[int, ...]:
    """How many listeners of each kind a load balancer has; () in a pool without precreated ones."""
    counts = spec.precreate
    return (counts.tcp, counts.udp, counts.tcp_udp) if counts.total else ()


def ledger_requests(spec: PortPoolSpec, wants: Iterable[Want]) -> list[tuple[str, int] | tuple[str, int, int]]:
    """What the ledger is asked for: key, number of ports and, in a pool of precreated listeners, their kind."""
    if not spec.precreate.total:
        return [(want.key, want.ports) for want in wants]
    return [(want.key, want.ports, kind_of(want.protocol)) for want in wants]


def precreate_shortfall(spec: PortPoolSpec, wants: Iterable[Want]) -> str | None:
    """Why the precreated listeners can never serve these wants of the pool, None when they can."""
    asked = dict[Protocol, list[int]]()
    for want in wants if spec.precreate.total else ():
        asked.setdefault(LISTENER_PROTOCOL.get(want.protocol, want.protocol), []).append(want.ports)
    return next(
        (why for protocol, ranges in asked.items() if (why := _shortfall_of_protocol(spec, protocol, ranges))), None
    )


def _shortfall_of_protocol(spec: PortPoolSpec, protocol: Protocol, ranges: Sequence[int]) -> str | None:
    there, most = len(ports_of(spec).get(protocol, ())), spec.most_load_balancers
    if not there:
        return f"{protocol} is asked for and precreate has no {protocol} listeners ({_layout_in_words(spec)})"
    if max(ranges) > there:
        return f"{max(ranges)} {protocol} ports in a row are asked for and a load balancer of the pool has {there}"
    if sum(ranges) > there * most or sum(2 * length > there for length in ranges) > most:
        return f"{sum(ranges)} {protocol} ports are asked for and the pool can never have more than {most} x {there}"
    return None


def _layout_in_words(spec: PortPoolSpec) -> str:
    return ", ".join(f"{protocol} {len(ports)}" for protocol, ports in ports_of(spec).items())


def creation_order(spec: PortPoolSpec, ports: Sequence[int]) -> Iterator[int]:
    """The order in which missing listeners are created: one of each protocol, and again, as pods may wait for any."""
    spans = ports_of(spec).values()
    return iter(sorted(ports, key=lambda port: (min((port - s.start for s in spans if port in s), default=0), port)))
