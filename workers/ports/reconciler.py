"""Reconciles the ports of one pod: observe, decide, act, until nothing is left to do."""

from __future__ import annotations

from typing import Final

from berthmaster.errors import TransientError
from berthmaster.routing import split_key
from domain.outcome import Outcome, Settled, Wait
from domain.port_pools.port_pool import PoolState
from domain.ports.lifecycle import next_step
from domain.ports.pod import Outputs, PodView
from domain.ports.steps import Stop
from workers.kube.errors import translated
from workers.port_services import PortServices
from workers.ports.actions import act
from workers.ports.last_errors import keep_last_error
from workers.ports.observe import PodObservation, observe, pod_of, read_pod
from workers.ports.status import PodChanged, publish
from workers.run import Run

MAX_STEPS: Final = 1000


class PodReconciler:
    """Reconciles the pod that a Run's key names."""

    def __init__(self, services: PortServices) -> None:
        self._services = services

    def __call__(self, run: Run) -> Outcome:
        """Reconcile the ports of the run's pod. Its last error is kept for `explain`."""
        with (
            translated(self._services.events, run.key, run.snapshot),
            keep_last_error(self._services.troubles, run.key),
        ):
            self._clear_unselected(run)
            return self._reconcile(run)

    def _reconcile(self, run: Run) -> Outcome:
        """Read the pod again after a conflict: the event of its change may be late, or may never come."""
        pod = pod_of(self._services, run)
        try:
            return self._settle(run, pod, live=run.snapshot is None)
        except PodChanged:
            current = read_pod(self._services, run)
            if (current and current.version) == (pod and pod.version):
                raise
            return self._settle(run, current, live=True)

    def _settle(self, run: Run, pod: PodView | None, live: bool) -> Outcome:
        """Do step after step. Raises PodChanged when the pod is no longer the version that this run observes."""
        observation = observe(self._services, run, pod, live)  # 1. observe
        for _ in range(MAX_STEPS):
            step = next_step(observation.observed())  # 2. decide
            if isinstance(step, Stop):
                return _outcome(observation, step)
            act(self._services, observation, step)  # 3. act; 4. the status is a step as well
        raise TransientError(f"{observation.full_name} did not settle within {MAX_STEPS} steps")

    def _clear_unselected(self, run: Run) -> None:
        """Clear the outputs of a pod that lost the label that the publisher selects by.

        The pod lives on, and must not show ports that others get now.
        """
        if not (run.snapshot and run.snapshot.gone and run.pools):
            return
        pod, (_, namespace, name) = read_pod(self._services, run), split_key(run.key)
        if pod and pod.uid == run.snapshot.uid and pod.outputs != Outputs():
            publish(self._services, PodObservation(run, namespace, name, pod, live=True), Outputs())


def _outcome(observation: PodObservation, stop: Stop) -> Outcome:
    """End the run. A name without entries that waits in no pool needs no record of pools."""
    unknown = any(access.state is PoolState.NOT_READY for access in observation.pools.values())
    if observation.run.pools and not (observation.entries or observation.waiting or unknown):
        observation.run.hold([])
    tries = observation.run.tries + 1 if stop.counted else 0
    return Wait(stop.after, stop.reason, tries) if stop.after else Settled()
