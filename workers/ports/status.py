"""What people see on the pod: one conditional write, and one Event when the state changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

import structlog

from berthmaster.errors import TerminalError, TransientError
from domain.ports.endpoints import parse_endpoints
from domain.ports.lifecycle import after_cloud_error
from domain.ports.pod import Outputs, PortsState
from domain.ports.steps import Show
from events.kube.api import Conflict, NotFound
from workers.cloud.call_budget import OverBudget
from workers.cloud.errors import CloudDenied, CloudError, CloudInvalid, Throttled, cloud_error_in
from workers.kube.stale_snapshot import CHANGED
from workers.port_services import PortServices
from workers.ports.observe import PodObservation

log = structlog.get_logger()
MAX_REASON: Final = 200
"""Characters of the provider's own words that a pod shows."""
LONG_WAIT: Final = timedelta(seconds=2)
"""A shorter wait for the call budget is not worth a write to the pod, unless the pod denies the ports that it has."""


class PodChanged(TransientError):  # noqa: N818 - an ordinary event, not a failure
    """The pod is no longer the version that this run decided from."""


def publish(services: PortServices, observation: PodObservation, outputs: Outputs) -> None:
    """Write the outputs. Raises PodChanged, quietly retried, when the pod changed or went since it was read."""
    pod = observation.pod
    assert pod
    observation.run.keep(services.call_time)
    try:
        observation.pod, snapshot = services.pods.show(pod, outputs)
    except (Conflict, NotFound) as error:
        raise PodChanged(f"{observation.full_name} changed since it was read", CHANGED) from error
    if not observation.live:
        # The events of a live pod are news: it may have lost the label that the publisher selects by.
        observation.run.record_write(snapshot)
    if outputs.state and outputs.state != pod.outputs.state:
        words = {"state": outputs.state, "was": pod.outputs.state or "", "reason": outputs.message or ""}
        log.info("pod_state_changed", pod=observation.full_name, **words)
        version = observation.pod.version
        services.events.pod_state(pod.namespace, pod.name, pod.uid, version, outputs.state, outputs_in_words(outputs))


def outputs_in_words(outputs: Outputs) -> str:
    """The message of an Event: the reason, or what is served where."""
    rows = parse_endpoints(outputs.endpoints)
    places = (f"{row.name or row.container_port} ({row.protocol}) at {row.host}:{row.port}" for row in rows)
    return outputs.message or ", ".join(places)


@contextmanager
def show_cloud_errors(services: PortServices, observation: PodObservation) -> Iterator[None]:
    """Show on the pod why the cloud calls inside fail or wait. The error goes on."""
    try:
        yield
    except OverBudget as wait:
        long = wait.retry_after and wait.retry_after >= LONG_WAIT
        if long or (observation.pod and observation.pod.outputs.denies_ports):
            _show_reason(services, observation, PortsState.ALLOCATED, f"waiting for the {wait.provider} call budget")
        raise
    except (TransientError, TerminalError, ExceptionGroup) as error:
        if cloud_error := cloud_error_in(error):
            _show_cloud_error(services, observation, cloud_error)
        elif isinstance(error, TerminalError):  # our own: its text says what a person must mend
            _show_reason(services, observation, PortsState.FAILED, str(error))
        raise


def _show_cloud_error(services: PortServices, observation: PodObservation, error: CloudError) -> None:
    """Show all but a throttled call, which is an ordinary wait."""
    if isinstance(error, Throttled):
        return
    state = PortsState.FAILED if isinstance(error, (CloudDenied, CloudInvalid)) else PortsState.ALLOCATED
    reason = (
        error.reason[:MAX_REASON] if isinstance(error, CloudInvalid) else error.code
    )  # a person must mend the input
    _show_reason(services, observation, state, f"{error.call}: {reason}")


def _show_reason(services: PortServices, observation: PodObservation, state: PortsState, reason: str) -> None:
    """Show why the pod is not bound yet. A failed write must not hide the error that it is about."""
    step = after_cloud_error(observation.observed(), state, reason)
    if isinstance(step, Show):
        try:
            publish(services, observation, step.outputs)
        except TransientError as error:
            log.info("pod_state_unsaid", pod=observation.full_name, reason=str(error))
