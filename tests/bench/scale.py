"""Everything at once, as large as it is promised: 50,000 pods known and 5,000 of them bound, 4,400 warm pods, and 1,000
runner pods. How much memory that takes, and how long it takes until all is well after a restart of all processes, a
new publisher's list, and a loss of everything in Redis.

It takes minutes and is no part of `make bench`: `make bench ARGS="--only scale"`, with `--quick` a tenth of it;
`python -m tests.bench.scale --share 0.02` does any share.

Real are the publisher, two worker processes, beat, Redis, and the sandbox's Kubernetes API and kubelet; the cloud
answers at once. The pods that are known only are in the API server from the start and want nothing; each of them costs
one run. The runner pods are reported by one thread.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

import orjson
import psutil
from redis import RedisError
from rich.console import Console

from berthmaster.errors import TransientError
from berthmaster.jobs.job import slot_class
from berthmaster.jobs.runner_ledger import Report as Heartbeat
from berthmaster.jobs.runner_ledger import RunnerLedger
from berthmaster.jobs.scripts import load_scripts
from berthmaster.redis.incarnation import connect
from domain.kubernetes.names import PORTS
from events.kube.api import KubeApi
from events.workqueue import Workqueue
from tests.bench.claims import WarmPool
from tests.bench.crowd import NAMESPACE, Crowd
from tests.bench.ledger import show
from tests.bench.measuring import Figure, Report, Tell, machine
from tests.bench.memory_stack import MemoryStack
from tests.support.jobs.runner_pods import pods_of_pools
from tests.support.waiting import eventually

NAME: Final = "scale"
KNOWN, BOUND, WARM, RUNNERS = 50_000, 5_000, 4_400, 1_000
TENTH: Final = 0.1
PORTS_EACH: Final = 50
LAYOUT: Final = (slot_class(()),)
"""Of a runner pod: one slot for any job."""
REPORT_EVERY: Final = 20.0
"""Seconds; a runner counts as lost after two minutes."""
LONGEST: Final = 900.0
"""Seconds for each step."""
SAY_EVERY: Final = 20.0
"""Seconds."""
Json = dict[str, Any]


def run(quick: bool, tell: Tell) -> Report:
    return at_scale(TENTH if quick else 1.0, tell)


def at_scale(share: float, tell: Tell) -> Report:
    bound, warm, runners = (round(number * share) for number in (BOUND, WARM, RUNNERS))
    known = round(KNOWN * share) - bound
    count = {"known": known + bound, "bound": bound, "warm": warm, "runners": runners}
    with tempfile.TemporaryDirectory() as folder, MemoryStack(Path(folder)) as stack:
        seed(stack, known)
        stack.start(lambda what: tell(f"started {what}"))
        stack.complete()
        eventually(stack.working, timeout=LONGEST)
        api = stack.kube.api("bench")
        with ExitStack() as parts:
            crowd = parts.enter_context(Crowd(api))
            crowd.pool(loadBalancers=stack.existing_balancers(-(-bound // PORTS_EACH) + 1))
            pool = parts.enter_context(WarmPool(api, "warm", warm, warm + 100))
            parts.enter_context(reporting(api, stack, runners))
            names = crowd.make(bound + 1)
            crowd.ask(names[:-1])
            crowd.wait_for("Bound", names[:-1], LONGEST, stack.check)
            tell(f"{bound} pods are bound")
            fleet = Whole(stack, api, pool, count, tell)
            settled = fleet.settle()
            tell(f"all is quiet after {settled:.0f} s")
            memory = memory_of(stack)
            tell(", ".join(f"{name} {size:.0f} MB" for name, size in memory.items()))
            restart, after = fleet.timed("all is restarted", restart_all), memory_of(stack)
            resync = fleet.timed("the publisher lists", restart_publisher)
            lost, last = time.monotonic(), names[-1]
            loss = fleet.timed("Redis has lost everything", lambda of: lose_redis(of, crowd, last))
            crowd.wait_for("Bound", [last], LONGEST, stack.check)
            granted = crowd.seen("Bound")[last] - lost
        api.close()
    times = {"restart": restart, "resync": resync, "loss": loss, "grant": granted}
    return Report(NAME, figures(count, memory, after, times), {**count, "memory": memory, "times": times})


def seed(stack: MemoryStack, count: int) -> None:
    """Put pods into the API server's file before it starts; each has an empty request, so that no run writes to it."""
    stack.kube.directory.mkdir(parents=True, exist_ok=True)
    with (stack.kube.directory / "objects.jsonl").open("wb") as file:
        for number in range(count):
            ip = f"10.{2 + number // 62_500}.{number // 250 % 250}.{number % 250 + 1}"
            meta = {
                "namespace": "known",
                "name": f"known-{number:05}",
                "uid": f"00000000-0000-4000-8000-{number:012}",
                "resourceVersion": str(number + 1),
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "annotations": {PORTS: ""},
            }
            spec = {"nodeName": "elsewhere", "containers": [{"name": "main", "image": "none"}]}
            status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}]}
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}
            file.write(orjson.dumps([number + 1, ["", "pods"], None, pod]) + b"\n")


@contextmanager
def reporting(api: KubeApi, stack: MemoryStack, count: int) -> Iterator[None]:
    """A pool of so many runner pods, each of which reports that it has nothing."""
    stop = Event()
    template = {"spec": {"containers": [{"name": "runner", "image": "runner"}]}}
    body: Json = {
        "apiVersion": "berthmaster.dev/v1alpha1",
        "kind": "PodPool",
        "metadata": {"name": "runners"},
        "spec": {"template": template, "slots": [{}], "minReplicas": count, "maxReplicas": count},
    }
    api.create(f"/apis/berthmaster.dev/v1alpha1/namespaces/{NAMESPACE}/podpools", body)
    thread = Thread(target=report, args=(api, stack, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(20)


def report(api: KubeApi, stack: MemoryStack, stop: Event) -> None:
    """Report for each pod that runs, periodically, and at once when its ledger asks for another report."""
    redis = connect(stack.redis.url)
    ledger, marks, due = RunnerLedger(redis, load_scripts(redis), f"{NAMESPACE}/runners"), dict[str, str](), 0.0
    for pods in pods_of_pools(api, f"/api/v1/namespaces/{NAMESPACE}/pods", stop):
        every, due = time.monotonic() >= due, max(due, time.monotonic())
        due = time.monotonic() + REPORT_EVERY if every else due
        for uid, pod in pods.items():
            running = pod.get("status", {}).get("phase") == "Running"
            if running and (every or uid not in marks) and not stop.is_set():
                with suppress(RedisError, TransientError):
                    marks[uid] = beat(ledger, uid, pod["metadata"]["name"], marks.get(uid))
    redis.close()


def beat(ledger: RunnerLedger, uid: str, name: str, mark: str | None) -> str:
    """Return the mark of the ledger, which a report under another mark gets first."""
    answer = ledger.report(Heartbeat(uid, name, LAYOUT, mark))
    return answer.mark if answer.accepted else ledger.report(Heartbeat(uid, name, LAYOUT, answer.mark)).mark


class Whole:
    """The fleet, and whether all is well in it."""

    def __init__(self, stack: MemoryStack, api: KubeApi, pool: WarmPool, count: dict[str, int], tell: Tell) -> None:
        self.stack, self.api, self.pool, self.tell = stack, api, pool, tell
        self.known, self.warm, self.runners = count["known"], count["warm"], count["runners"]

    def missing(self) -> dict[str, int]:
        """What all is well without: pods that are not known, keys that are ready or held, and so on; counts."""
        self.stack.check()
        redis = connect(self.stack.redis.url)
        try:
            depth: Any = Workqueue(redis, hint_queue="none").depth()
            known: Any = redis.hlen("{queue}snap")
        except RedisError:
            return {"Redis": 1}
        finally:
            redis.close()
        counts = {
            "unknown": self.known - known,
            "dirty keys": depth["dirty"],
            "not working": not self.stack.working(),
            "warm pods": self.warm - self.pool.idle(),
            "runners": self.runners - self.open(),
        }
        return {name: count for name, count in counts.items() if count > 0}

    def open(self) -> int:
        """How many runner pods accept jobs."""
        pods = self.api.list(f"/api/v1/namespaces/{NAMESPACE}/pods", labelSelector="berthmaster.dev/phase=Idle")
        return len(pods["items"])

    def settle(self) -> float:
        """Wait until all is well, and say now and then what is missing; return the seconds."""
        began = said = time.monotonic()
        while missing := self.missing():
            now = time.monotonic()
            if now - began > LONGEST:
                raise AssertionError(f"after {LONGEST:.0f} s these are missing: {missing}")
            if now - said > SAY_EVERY:
                self.tell(f"missing: {missing}")
                said = now
            time.sleep(0.5)
        return time.monotonic() - began

    def timed(self, what: str, act: Callable[[MemoryStack], None]) -> float:
        """Seconds from what happens until all is well again."""
        began = time.monotonic()
        act(self.stack)
        self.settle()
        took = time.monotonic() - began
        self.tell(f"{what}: all is well after {took:.0f} s")
        return took


def restart_all(stack: MemoryStack) -> None:
    """Kill the publisher, workers, beat and Redis; Redis has its file."""
    for daemon in (stack.publisher, *stack.workers, stack.beat):
        daemon.kill()
    stack.redis.kill()
    stack.redis.start()
    for worker in stack.workers:
        stack.heartbeat(worker.name).unlink(missing_ok=True)
    for daemon in (stack.publisher, *stack.workers, stack.beat):
        daemon.launch()


def restart_publisher(stack: MemoryStack) -> None:
    """A new term lists everything and compares it with Redis, as a resync does."""
    told = stack.publisher.log.stat().st_size
    stack.publisher.kill()
    stack.publisher.launch()
    eventually(lambda: b"lists_stamped" in stack.publisher.log.read_bytes()[told:], timeout=LONGEST, every=0.2)


def lose_redis(stack: MemoryStack, crowd: Crowd, name: str) -> None:
    """Kill Redis, start it without its data, and let one more pod ask for a port."""
    stack.redis.kill()
    for path in stack.redis.directory.glob("appendonlydir/*"):
        path.unlink()
    stack.redis.start()
    crowd.ask([name])


def memory_of(stack: MemoryStack) -> dict[str, float]:
    """MB of each process, and what Redis counts as its data."""
    redis = connect(stack.redis.url)
    used: Any = redis.info("memory")["used_memory"]
    redis.close()
    daemons = (stack.publisher, *stack.workers, stack.beat, stack.redis.daemon)
    found = {d.name: psutil.Process(d.process.pid).memory_info().rss / 2**20 for d in daemons if d.process}
    return {**found, "used_memory": used / 2**20}


def figures(
    count: dict[str, int], before: dict[str, float], after: dict[str, float], times: dict[str, float]
) -> tuple[Figure, ...]:
    what = ", ".join(f"{number} {name}" for name, number in count.items())
    workers = [name for name in before if name.startswith("worker")]

    def memory(text: str, name: str) -> Figure:
        return Figure(f"memory of {text}", before[name], "MB", note=f"{after[name]:.0f} after a restart")

    return (
        Figure("pods", sum(count.values()) - count["bound"], "", note=what),
        memory("the publisher", "publisher"),
        Figure("memory of a worker", max(before[name] for name in workers), "MB", note="the larger one"),
        memory("Redis", "redis"),
        Figure("memory of what is in Redis", before["used_memory"], "MB"),
        Figure("restart of everything -> all is well", times["restart"], "s"),
        Figure(
            "new publisher -> all is well", times["resync"], "s", note="the old one was killed: its Lease ends first"
        ),
        Figure("loss of Redis -> a new pod has its port", times["grant"], "s", note="it asks right after the loss"),
        Figure("loss of Redis -> all is well", times["loss"], "s", note="every ledger verified, every pod run"),
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--share", type=float, default=TENTH, help="of the full scale")
    console = Console()
    found = at_scale(parser.parse_args().share, lambda text: console.print(f"[dim]{time.strftime('%X')} {text}"))
    console.print(show(found), f"machine: {machine()}")


if __name__ == "__main__":
    main()
