"""Publishing a pod's outputs: one conditional write, and one Event when the state changes."""

from __future__ import annotations

import structlog

from berthmaster.errors import TransientError
from domain.ports.endpoints import shown
from domain.ports.pod import Outputs
from events.kube.api import Conflict, NotFound
from workers.kube.stale_snapshot import CHANGED
from workers.port_services import PortServices
from workers.ports.observe import World

log = structlog.get_logger()


class PodChanged(TransientError):  # noqa: N818 - an ordinary event, not a failure
    """The pod is not the version any more that this run decided from: look again."""


def publish(services: PortServices, world: World, outputs: Outputs) -> None:
    """Raises PodChanged, quietly retried, when the pod changed or went since it was read."""
    pod = world.pod
    assert pod
    world.run.keep(services.call_time)
    try:
        world.pod, snapshot = services.pods.show(pod, outputs)
    except (Conflict, NotFound) as error:
        raise PodChanged(f"{world.full_name} changed since it was read", CHANGED) from error
    if not world.live:  # of what the publisher has not told, its events are news: the pod may have lost its label
        world.run.record_write(snapshot)
    if outputs.state and outputs.state != pod.outputs.state:
        log.info(
            "pod_state_changed", pod=world.full_name, state=outputs.state, was=pod.outputs.state, reason=outputs.message
        )
        services.events.pod_state(pod.namespace, pod.name, pod.uid, world.pod.version, outputs.state, in_words(outputs))


def in_words(outputs: Outputs) -> str:
    """For people: why, or what is served where."""
    rows = shown(outputs.endpoints)
    places = (f"{row.name or row.container_port} ({row.protocol}) at {row.host}:{row.port}" for row in rows)
    return outputs.message or ", ".join(places)
