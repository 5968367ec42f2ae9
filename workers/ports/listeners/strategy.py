"""What binds a port: a listener that is made for one pod, or one that the pool has precreated. Chosen here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from domain.ports.entry import Entry
from workers.port_services import PortServices
from workers.ports.listeners.per_pod import PerPodListeners
from workers.ports.listeners.precreated import PrecreatedListeners
from workers.ports.observe import PodObservation


class ListenerStrategy(Protocol):
    """The listeners of one pod in one pool. Each method is idempotent, and records what it has changed."""

    def provision(self, entry: Entry, target: str) -> None:
        """Make the cloud carry the port, with `target` (ip:port, '' = none) as the only registered target."""

    def disable(self, entry: Entry) -> None:
        """Deregister the target and keep the listener."""

    def release(self, entry: Entry) -> tuple[str, ...]:
        """Stop serving the pod, then free the port. Returns the names of the pods that the script has woken."""

    def locate(self, entry: Entry) -> Entry:
        """The entry with the ARNs of its listener and target group, '' for what does not exist."""

    def relabel(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Tag for how long the entries are retained. Returns them as they are to be recorded."""


def listeners_of(services: PortServices, observation: PodObservation, pool: str) -> ListenerStrategy:
    """Choose the strategy by the pool's spec."""
    if observation.config(pool).spec.precreate.total:
        return PrecreatedListeners(services, observation, pool)
    return PerPodListeners(services, observation, pool)
