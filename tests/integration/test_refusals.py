"""Redis answers "not now" to a process of each kind at once, and afterwards each goes on where it was."""

from __future__ import annotations

import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from berthmaster.client import Fleet as Client
from berthmaster.client import Request
from berthmaster.redis.incarnation import doubt
from berthmaster.redis.outage import OUTAGE
from compose.sandbox.free_ports import free_port
from compose.sandbox.redis_server import RedisServer
from events.workqueue import Workqueue
from tests.integration.runner.conftest import RunnerPool
from tests.integration.worker.fleet import Fleet, during
from tests.support.command_line import berthmaster
from tests.support.faults.refusing import PLAYED, REAL, RefusingProxy, demoted
from tests.support.pods.pods import pod
from tests.support.servers.celery_worker import CeleryProcess
from tests.support.servers.publishing import PublisherProcess, settings
from tests.support.servers.scripted_watch import PODS, ScriptedApi
from tests.support.waiting import eventually

LOUD = (b'"level":"warning"', b'"level": "warning"', b"[warning", b'"level":"error"', b'"level":"critical"', b"ERROR/")
OURS = (b"redis_refuses", b"redis_accepts")
UNSAID = (
    *(b"unknown_task", b"resource_absent", b"stream_stalled", b"Connection to broker lost", b"lost_hints_repeated"),
    *(b"are being verified", b"Connection closed by server"),
)
"""What the probing application and the scripted API lack, connections that were really cut, hints that a worker had
taken from its queue when Redis refused the rest (whether there are any is a matter of the moment), and a runner's
reports after the history of Redis changed. A server that is full closes a connection right after its refusal, so that
the client may see the end alone."""


class System:
    """A process of each kind behind one proxy: publisher, beat, workers of both pools, a runner."""

    def __init__(self, directory: Path, server: RedisServer, api: ScriptedApi) -> None:
        self.directory, self.server, self.api, self.pods = directory, server, api, 0
        self.proxy, self.health = RefusingProxy(server.port), free_port()
        chosen = settings(api.url, self.proxy.url, health_port=self.health)
        self.publisher = PublisherProcess(chosen, directory / "publisher.log")
        self.fleet = Fleet(directory, server, self.proxy.url)
        self.fleet.beats.append(self.fleet.process("beat", "beat", {}))
        for pool in ("threads", "prefork"):
            self.fleet.add_worker(BERTHMASTER_CELERY__POOL=pool, BERTHMASTER_CELERY__CONCURRENCY="2")
        self.runners = RunnerPool(directory, self.fleet.redis, self.proxy.url)
        self.runner = self.runners.start("r")

    def start(self) -> System:
        self.publisher.wait_for("lists_stamped", 120)
        self.runners.ledger.begin([])
        for process in [*self.fleet.beats, *self.fleet.workers]:
            process.ready(120)
        self.runners.ready("r")
        return self

    def end(self) -> None:
        self.publisher.__exit__()
        for process in self.celery:
            process.kill()
            sys.stdout.write(f"--- {process.name}\n{process.tail()}")
        self.fleet.redis.close()
        self.proxy.close()

    @property
    def celery(self) -> list[CeleryProcess]:
        return [*self.fleet.workers, *self.fleet.beats, self.runner]

    @property
    def logs(self) -> list[Path]:
        return [*(process.log_file for process in self.celery), self.directory / "publisher.log"]

    def spell(self, refusing: AbstractContextManager[None], seconds: float = 0.5) -> None:
        """What is asked for in it is done afterwards, by processes that are still there."""
        asked = []
        with refusing:
            during(seconds, lambda: asked.append(self.ask()), every=0.5)
        eventually(lambda: all(self.fleet.diary(key, "ended") for key in asked), 60)
        assert all(process.running() for process in self.celery)
        assert self.publisher.process.poll() is None

    def ask(self) -> str:
        self.pods += 1
        self.api.world.put(PODS, pod(f"p{self.pods}"))
        return f"pod/games/p{self.pods}"

    def probed(self, kind: str) -> bool:
        process = self.fleet.beats[0] if kind == "beat" else self.fleet.workers[0]
        return berthmaster(process.settings(), "healthcheck", kind, "--ready").exit_code == 0

    def publisher_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.health}/readyz", timeout=5):
                return True
        except urllib.error.HTTPError:
            return False

    def ready(self) -> tuple[bool, bool, bool]:
        return self.probed("worker"), self.probed("beat"), self.publisher_ready()

    def calm(self) -> bool:
        """Each process has said as often that Redis accepts as that it refuses; at least once."""
        counts = [[log.read_bytes().count(line) for line in OURS] for log in self.logs]
        return all(refuses == accepts > 0 for refuses, accepts in counts)

    def noise(self) -> list[bytes]:
        """Lines of warnings, errors and tracebacks beside the two of a spell."""
        lines = [line for log in self.logs for line in log.read_bytes().splitlines()]
        loud = [line for line in lines if any(mark in line for mark in (*LOUD, b"Traceback"))]
        return [line for line in loud if not any(known in line for known in (*OURS, *UNSAID))]


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    directory = tmp_path_factory.mktemp("refusals")
    with ExitStack() as stack:
        server = RedisServer(directory / "redis").start()
        stack.callback(server.kill)
        system = System(directory, server, stack.enter_context(ScriptedApi()))
        stack.callback(system.end)
        yield system.start()


def refusals(system: System) -> Iterator[tuple[AbstractContextManager[None], float]]:
    for way in REAL.values():
        yield way(system.server), 0.5
    for answer in PLAYED.values():
        yield system.proxy.refusing(answer), 0.5
    yield REAL["NOREPLICAS"](system.server), 8.0


@pytest.mark.row("RD-22", "EV-13")
def test_no_process_ends_and_no_job_dies_whatever_redis_refuses_for_a_while(system: System) -> None:
    system.runners.submit("long", "apart", seconds=20)
    system.runners.reaches("long", "running")
    for refusing, seconds in refusals(system):
        system.spell(refusing, seconds)
    assert system.runners.reaches("long", "done", 60).outcome == "succeeded"
    eventually(system.calm, 60)
    assert system.noise() == []


@pytest.mark.row("RD-22")
def test_a_minute_without_memory_is_survived_and_probes_show_it(system: System) -> None:
    """A full Redis is read as ever: a worker that waits for messages notices nothing."""
    shown = []
    system.runners.submit("minute", "apart", seconds=30)
    system.runners.reaches("minute", "running")
    with REAL["OOM"](system.server):
        during(60, lambda: shown.append(system.ready()), every=15)
        key = system.ask()
    assert set(shown[1:]) == {(False, False, False)}
    eventually(lambda: system.fleet.diary(key, "ended"), 60)
    eventually(lambda: system.ready() == (True, True, True), 90, every=2)
    assert system.runners.reaches("minute", "done", 60).outcome == "succeeded"
    eventually(system.calm, 60)
    assert system.noise() == []


@pytest.mark.row("RD-22")
def test_a_key_is_run_though_a_refusal_took_its_hint(system: System) -> None:
    redis, key = system.fleet.redis, "pod/games/unhinted"
    Workqueue(redis, lambda _: None).touch([key])
    eventually(lambda: system.fleet.diary(key, "ended"), 60)


@pytest.mark.row("RD-22")
def test_a_client_waits_out_a_refusal_as_it_does_a_loss(system: System) -> None:
    with Client(system.proxy.url) as client:
        with system.proxy.refusing(PLAYED["READONLY"]):
            client.submit(Request(id="j", pool="ci/runners", task="apart"))
            with pytest.raises(OUTAGE, match="READONLY"):
                client.job("ci/runners", "j")
        assert client.job("ci/runners", "j") is None


@pytest.mark.row("RD-22")
def test_a_master_that_was_demoted_for_a_while_is_served_again(system: System) -> None:
    with demoted(system.server):
        during(0.5, system.ask, every=0.2)
    system.proxy.cut()
    key = system.ask()
    eventually(lambda: system.fleet.diary(key, "ended"), 60)
    assert all(process.running() for process in system.celery)
    assert system.publisher.process.poll() is None
    doubt(system.runners.ledger.redis)  # its history is another one: the slots are verified again, as a pool's run does
    system.runners.ledger.begin([])
    system.runners.ready("r")
