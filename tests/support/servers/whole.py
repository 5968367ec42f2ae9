"""The whole system in processes, impatient enough for a test, with what chaos tests do to it and ask of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from compose.sandbox.cluster_view import ClusterView
from compose.sandbox.environment import CLUSTER
from compose.sandbox.picture import missing
from compose.sandbox.stack import Stack
from compose.sandbox.workload import NAMESPACE, Workload
from tests.fixtures.aws import CREDENTIALS, Aws
from tests.support.faults.shifted_clock import ShiftedClock
from tests.support.ports.world_checks import check_all, check_cloud
from tests.support.servers.forked import ForkedStack
from tests.support.waiting import eventually

IMPATIENT = {  # a lease must outlast a call; calls are cheap, so that the machine is the limit and not AWS's rates
    "BERTHMASTER_KUBERNETES__REQUEST_TIMEOUT": "4s",
    "BERTHMASTER_AWS__CONNECT_TIMEOUT": "1s",
    "BERTHMASTER_AWS__READ_TIMEOUT": "5s",
    "BERTHMASTER_AWS__RATES": '{"registration": {"per_second": 300, "burst": 300}, '
    '"write": {"per_second": 600, "burst": 600}, "describe": {"per_second": 300, "burst": 300}}',
    "BERTHMASTER_PUBLISHER__WATCH__RESYNC_EVERY": "30s",  # storms swallow events
    "BERTHMASTER_CELERY__TASK_EVENTS": "true",  # as deploy/ has it
    "BERTHMASTER_QUEUE__LEASE": "9s",
    "BERTHMASTER_QUEUE__HINT_LOST_AFTER": "4s",
    "BERTHMASTER_QUEUE__RETRY__LONGEST": "2s",
    "BERTHMASTER_PORTS__SWEEP_EVERY": "2s",
    "BERTHMASTER_PORTS__SCALE_UP_LEASE": "5s",
    "BERTHMASTER_SLOTS__AUTOSCALE_EVERY": "2s",
    "BERTHMASTER_SLOTS__SWEEP_EVERY": "1s",
    "BERTHMASTER_CELERY__VISIBILITY_TIMEOUT": "9s",
    "BERTHMASTER_CELERY__RESTORE_EVERY": "1s",
    "BERTHMASTER_CELERY__HEALTH_CHECK_EVERY": "2s",
}

PATIENCE = 120.0
"""Seconds that anything may take: beside other tests it takes three times as long as alone."""


class Whole:
    """A namespace of pods, as `world_checks` sees it; `stack` for what is done to its processes."""

    namespace, cluster = NAMESPACE, CLUSTER

    def __init__(self, stack: Stack) -> None:
        self.stack, self.api, self.aws = stack, stack.kube.api("tests"), Aws(stack.aws_url)
        self.world, self.workload, self.pods = ClusterView(self.api), Workload(self.api), 0
        self.clocks: Mapping[str, ShiftedClock] = {}

    def add_pods(self, number: int) -> list[str]:
        self.pods += number
        return [self.workload.add_pod() for _ in range(number)]

    def delete_pods(self, names: list[str]) -> None:
        self.pods -= len(names)
        for name in names:
            self.workload.delete_pod(name)

    def await_bound(self, number: int) -> None:
        eventually(lambda: len(self.world.picture().bound) >= number, timeout=PATIENCE, every=0.05)

    def await_converged(self, timeout: float = PATIENCE) -> None:
        def converged() -> bool:
            assert missing(self.world.picture(), self.pods) == []
            return True

        eventually(converged, timeout, every=0.2)

    def check(self) -> None:
        """The invariants, when everything has come to rest; and no process has ended by itself."""
        self.stack.check()
        # What a killed run held is cleared when its lease has ended, and the pool's status may be older than that.
        eventually(self.cloud_is_sound, every=1)
        check_all(self, self.aws)
        assert self.failures() == []

    def cloud_is_sound(self) -> bool:
        check_cloud(self, self.aws)
        return True

    def failures(self) -> list[str]:
        """Runs that ended by an exception that nobody had foreseen."""
        logs = [worker.log.read_text(errors="replace").splitlines() for worker in self.stack.workers]
        signs = ("reconcile_failed", "raised unexpected")
        return sorted({line[:2000] for lines in logs for line in lines if any(sign in line for sign in signs)})

    def load_balancers(self) -> int:
        return len(self.aws.driver().find_owned_load_balancers(self.cluster))

    def close(self) -> None:
        self.world.stop()
        self.api.close()


def given_clocks(stack: Stack, directory: Path) -> dict[str, ShiftedClock]:
    """A clock of its own for each of our processes and for Redis."""
    clocks = {}
    for daemon in (*stack.workers, stack.publisher, stack.beat, stack.redis.daemon):
        (place := directory / "clocks" / daemon.name).mkdir(parents=True)
        clocks[daemon.name] = ShiftedClock(place)
        daemon.env |= clocks[daemon.name].variables
    return clocks


@contextmanager
def running(
    directory: Path, kube_kind: str, monkeypatch: pytest.MonkeyPatch, settings: Mapping[str, str] | None = None
) -> Iterator[Whole]:
    """Every process, and nothing in the cluster yet."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)  # for the clients of the test itself
    with ForkedStack(
        directory, kube_kind, flower=False, throttle=False, settings=IMPATIENT | dict(settings or {})
    ) as stack:
        clocks = given_clocks(stack, directory)
        stack.start()
        stack.complete()
        system = Whole(stack)
        system.clocks = clocks
        try:
            system.world.start()
            yield system
        finally:
            system.close()


@contextmanager
def whole(directory: Path, kube_kind: str, most_pods: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Whole]:
    """Running, with a pool for so many pods and none of them yet."""
    with running(directory, kube_kind, monkeypatch) as system:
        system.workload.prepare(most_pods, system.stack.remote_aws.network())
        eventually(lambda: system.stack.working() and system.world.picture().pool.state == "Active", PATIENCE)
        yield system
