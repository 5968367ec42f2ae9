"""Listeners that exist before any pod: which ports of a load balancer they have, and who can use which.

The layout follows from the spec alone, so that whoever fills a load balancer after a crash makes the same: from the
pool's first port upward TCP, then UDP, then TCPUDP.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from domain.ports.pool import PortPoolSpec
from domain.ports.want import Protocol, Want

LISTENERS: Final = (Protocol.TCP, Protocol.UDP, Protocol.TCPUDP)
SERVES: Final = {Protocol.QUIC: Protocol.UDP}
"""Another word for the listener of a protocol. TLS has none: its certificate is the pod's."""


def ports_of(spec: PortPoolSpec) -> dict[Protocol, range]:
    """The ports of each load balancer that have such a listener."""
    first, found = spec.start_port, dict[Protocol, range]()
    for protocol, count in zip(
        LISTENERS, (spec.precreate.tcp, spec.precreate.udp, spec.precreate.tcp_udp), strict=True
    ):
        found[protocol], first = range(first, first + count), first + count
    return found


def ports_for(spec: PortPoolSpec, protocol: Protocol) -> range:
    """Those that a want of that protocol may get; in a pool without precreated listeners all."""
    if not spec.precreate.total:
        return spec.ports
    return ports_of(spec).get(SERVES.get(protocol, protocol), range(0))


def listener_of(spec: PortPoolSpec, port: int) -> Protocol | None:
    """The protocol of the listener that belongs on a port."""
    return next((protocol for protocol, ports in ports_of(spec).items() if port in ports), None)


def uncovered(spec: PortPoolSpec, wants: Iterable[Want]) -> str:
    """Why the precreated listeners can never serve these wants of the pool, or ''."""
    asked = dict[Protocol, int]()
    for want in wants if spec.precreate.total else ():
        protocol = SERVES.get(want.protocol, want.protocol)
        asked[protocol] = asked.get(protocol, 0) + want.ports
    for protocol, ports in asked.items():
        there = len(ports_of(spec).get(protocol, ()))
        if not there:
            return f"{protocol} is asked for and precreate has no {protocol} listeners ({_said(spec)})"
        if ports > there * spec.most_load_balancers:
            most = f"{spec.most_load_balancers} x {there}"
            return f"{ports} {protocol} ports are asked for and the pool can never have more than {most}"
    return ""


def _said(spec: PortPoolSpec) -> str:
    return ", ".join(f"{protocol} {len(ports)}" for protocol, ports in ports_of(spec).items())


def in_turns(spec: PortPoolSpec, ports: Sequence[int]) -> Iterator[int]:
    """The order in which missing listeners are made: of each protocol in turn, for any may be waited for."""
    spans = ports_of(spec).values()
    return iter(sorted(ports, key=lambda port: (min((port - s.start for s in spans if port in s), default=0), port)))
