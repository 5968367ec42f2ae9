"""Finds the pod that is rightly served at a port of ours: it is live, and publishes the port there."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from domain.kubernetes.names import PORTS
from domain.ports.endpoints import parse_endpoints
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


def find_rival(services: PortServices, name: str, entry: Entry, addresses: Collection[str]) -> Rival | None:
    """A pod other than `name` that asks for, and publishes, the very port of `entry` with one of `addresses`.

    Asks the API server for all pods, so it is for the rare case that there are unexpected addresses.
    """
    for pod in services.pods.all() if addresses else ():
        if pod.full_name != name and pod.wants_ports:
            for want in _served_wants(pod, entry, addresses, services.default_spec):
                return Rival(pod.full_name, pod.uid, want)
    return None


def _served_wants(pod: PodView, entry: Entry, addresses: Collection[str], default: str) -> Iterator[str]:
    """The keys of the pod's wants that it publishes there. An address that another pod has by now does not count."""
    try:
        wants = [want for want in parse_ports(pod.annotations[PORTS], default) if want.pool == entry.pool]
    except RequestError:
        return
    rows = parse_endpoints(pod.outputs.endpoints)
    for endpoint in (endpoint for row in rows for endpoint in row.port_by_port()):
        is_there = (endpoint.pool, endpoint.lb, endpoint.port) == entry.id and endpoint.target in addresses
        if is_there and address_of(endpoint.target)[0] in pod.ips:
            yield from (key for want in wants if (key := want.key_of(endpoint.container_port)))
