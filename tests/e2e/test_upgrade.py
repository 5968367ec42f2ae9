"""Two versions side by side on one Redis: the previous one rolls forward to this one, and back, while work goes on.

The previous version is the newest tag `v*` before this commit, and the first commit whose state in Redis this one reads
as long as there is none.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

import pytest

from berthmaster.client import Fleet
from berthmaster.redis.incarnation import STATE_VERSION
from compose.sandbox.daemon import Daemon
from compose.sandbox.jobs import Jobs
from compose.sandbox.kube.apply import apply
from compose.sandbox.stack import Stack
from tests.fixtures.aws import CREDENTIALS
from tests.support.claims.claim_crowd import API, ClaimCrowd
from tests.support.claims.claim_history import settled_on
from tests.support.ports.world_checks import check_unique
from tests.support.servers.whole import IMPATIENT, PATIENCE, Whole
from tests.support.waiting import eventually

REPOSITORY = Path(__file__).parents[2]
GRACE: Final = 60.0
"""Seconds that deploy/ gives a worker to end."""
JOBS: Final = 400
"""More than the test takes."""
SIGNS: Final = ("Traceback", "unknown_task", "unreadable", "reconcile_failed", "raised unexpected", "malformed")
"""What a message or a key of the other version would leave in a log."""


def git(*arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", REPOSITORY, *arguments], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def previous_version() -> str:
    """A release does not upgrade from itself."""
    tags = git("tag", "--list", "v*", "--merged", "HEAD", "--no-contains", "HEAD", "--sort=-version:refname")
    return next(iter(tags.decode().split()), None) or first_of_this_state()


def first_of_this_state() -> str:
    """The commit that set STATE_VERSION to what it is: this one, right after a change of it.

    An id would be gone with a history that is written anew.
    """
    shallow = git("rev-parse", "--is-shallow-repository").strip() == b"true"
    assert not shallow, "a clone without history knows no previous version: git fetch --unshallow --tags"
    added = f'STATE_VERSION: Final = "{STATE_VERSION}"'
    return git("log", "--reverse", "--format=%H", f"-S{added}").decode().split()[0]


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source of the previous version."""
    folder = tmp_path_factory.mktemp("previous")
    subprocess.run(["tar", "-x", "-C", folder], input=git("archive", previous_version()), check=True)
    return folder


class Upgrade(Stack):
    """A stack whose processes begin in the previous version."""

    def __init__(self, directory: Path, previous: Path) -> None:
        super().__init__(directory, flower=False, throttle=False, runners=True, settings=IMPATIENT)
        self.previous = previous
        self.fresh = {"publisher": self.publisher, "beat": self.beat}
        self.publisher, self.beat = self.of_previous(self.publisher), self.of_previous(self.beat)
        self.workers = [self.of_previous(worker) for worker in self.workers]
        self.all = [self.publisher, self.beat, *self.fresh.values(), *self.workers]

    def of_previous(self, daemon: Daemon) -> Daemon:
        """The same process with the source of the previous version, and a log of its own."""
        where = ["env", "-C", str(self.previous), *daemon.command]
        own = {**daemon.env, "PYTHONPATH": str(self.previous)}
        return Daemon(f"previous-{daemon.name}", where, self.logs, own)

    def kubelet_daemon(self) -> Daemon:
        """Runners are of the previous version to the end: workers roll before runner images do."""
        return self.of_previous(super().kubelet_daemon())

    def heartbeat(self, worker: str) -> Path:
        return super().heartbeat(worker.removeprefix("previous-"))

    def add(self, name: str, *, previous: bool) -> Daemon:
        worker = self.worker(name)
        worker = self.of_previous(worker) if previous else worker
        self.workers.append(worker)
        self.all.append(worker)
        worker.launch()
        return worker

    def end(self, daemon: Daemon) -> None:
        """As Kubernetes ends a pod."""
        if daemon in self.workers:
            self.workers.remove(daemon)
        daemon.stop(GRACE)
        assert daemon.process
        assert daemon.process.returncode == 0, daemon.tail()


class Load:
    """Pods that ask for ports, jobs, and claims; each `round` waits until all of it is served."""

    def __init__(self, system: Whole, fleet: Fleet) -> None:
        self.system, self.names = system, list[str]()
        self.jobs = Jobs(fleet, JOBS, most_pods=2)
        self.claims = ClaimCrowd(system.api, "databases", "warm", Random(5))

    def prepare(self) -> None:
        self.system.workload.prepare(60, self.system.stack.remote_aws.network())
        template = {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "main", "image": "none"}]}}
        spec = {
            "template": template,
            "slots": [],
            "maxIdle": 2,
            "maxReplicas": 40,
            "claims": {"allowedPodLabels": ["tenant"]},
        }
        pool = {
            "apiVersion": API,
            "kind": "PodPool",
            "metadata": {"name": "warm", "namespace": "databases"},
            "spec": spec,
        }
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "databases"}}
        apply(self.system.api, [namespace, pool])
        self.jobs.prepare(self.system.api)

    def until(self, served: Callable[[], bool]) -> None:
        def step() -> bool:
            self.jobs.step(time.monotonic())
            check_unique(self.system)
            self.system.stack.check()
            return served()

        eventually(step, timeout=PATIENCE, every=0.2)

    def round(self) -> None:
        """New pods are bound and old ones gone, three more jobs end, and each claim has a pod."""
        self.names += self.system.add_pods(4)
        gone, self.names = self.names[:2], self.names[2:]
        self.system.delete_pods(gone)
        self.claims.make(2)
        enough = self.jobs.ended.total() + 3
        self.until(lambda: self.jobs.ended.total() >= enough)
        self.system.await_converged()
        self.until(lambda: all(settled_on(claim) for claim in self.claims.claims()))
        self.claims.delete()

    def drain(self) -> None:
        """No more jobs come; all that were submitted end as they should."""
        self.jobs.number = self.jobs.submitted
        self.until(lambda: not self.jobs.open)
        assert list(self.jobs.wrong()) == []


@contextmanager
def running(directory: Path, previous: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Whole]:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)  # for the clients of the test itself
    with Upgrade(directory, previous) as stack:
        stack.start()
        stack.complete()
        system = Whole(stack)
        try:
            system.world.start()
            yield system
        finally:
            system.close()


@pytest.mark.row("ST-24", "ST-25")
@pytest.mark.timeout(900)
def test_a_fleet_rolls_forward_and_back_while_it_works(
    tmp_path: Path, previous: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path, previous, monkeypatch) as system, Fleet(system.stack.redis.url) as fleet:
        stack, load = system.stack, Load(system, fleet)
        assert isinstance(stack, Upgrade)
        old = list(stack.workers)
        runs_in(previous, stack.publisher, stack.beat, *old)
        load.prepare()
        load.until(stack.working)
        load.round()
        fresh = [stack.add(f"this-{number}", previous=False) for number in range(2)]
        load.until(stack.working)
        load.round()  # workers of both versions, the previous publisher
        replace(stack, stack.fresh["publisher"], stack.fresh["beat"])
        load.until(stack.working)
        load.round()  # workers of both versions, this publisher
        for worker in old:
            stack.end(worker)
        load.round()  # this version alone
        back = stack.add("back", previous=True)
        load.until(stack.working)
        load.round()
        replace(stack, *(daemon for daemon in stack.all[:2]))
        for worker in fresh:
            stack.end(worker)
        runs_in(previous, back)
        load.until(stack.working)
        load.round()  # the previous version alone
        load.drain()
        system.check()
        assert [line for daemon in stack.all for line in odd_lines(daemon)] == []


def replace(stack: Upgrade, publisher: Daemon, beat: Daemon) -> None:
    """The old one of each ends before the new one begins."""
    for daemon in (stack.publisher, stack.beat):
        stack.end(daemon)
    stack.publisher, stack.beat = publisher, beat
    for daemon in (publisher, beat):
        daemon.launch()


def runs_in(folder: Path, *daemons: Daemon) -> None:
    for daemon in daemons:
        assert daemon.process
        assert Path(f"/proc/{daemon.process.pid}/cwd").readlink() == folder


def odd_lines(daemon: Daemon) -> list[str]:
    lines = daemon.log.read_text(errors="replace").splitlines()
    return [f"{daemon.name}: {line[:500]}" for line in lines if any(sign in line for sign in SIGNS)]
