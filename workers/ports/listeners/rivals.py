"""Whether an address that stands at a port of ours is another pod's by right: live, and published there."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from domain.kubernetes.names import PORTS
from domain.ports.endpoints import shown
from domain.ports.entry import Entry
from domain.ports.pod import PodView
from domain.ports.request import RequestError, parse_ports
from domain.ports.target import address_of
from workers.port_services import PortServices


@dataclass(frozen=True)
class Rival:
    """The pod `owner` (namespace/name), and its want that the port serves."""

    owner: str
    uid: str
    want: str


def rival(services: PortServices, name: str, entry: Entry, addresses: Collection[str]) -> Rival | None:
    """Another pod than `name` that asks for, and publishes, the very port of `entry` with one of `addresses`.

    Asks the API server for all pods, so it is for the rare case that there are any strange addresses.
    """
    for pod in services.pods.all() if addresses else ():
        if pod.full_name != name and pod.wants_ports:
            for want in _served(pod, entry, addresses, services.default_spec):
                return Rival(pod.full_name, pod.uid, want)
    return None


def _served(pod: PodView, entry: Entry, addresses: Collection[str], default: str) -> Iterator[str]:
    """The keys of its wants that are published there. An address that another pod has by now is nobody's right."""
    try:
        wants = [w for w in parse_ports(pod.annotations[PORTS], default) if w.pool == entry.pool]
    except RequestError:
        return
    for port in (port for row in shown(pod.outputs.endpoints) for port in row.each()):
        there = (port.pool, port.lb, port.port) == entry.id and port.target in addresses
        if there and address_of(port.target)[0] in pod.ips:
            yield from (key for want in wants if (key := want.key_of(port.container_port)))
