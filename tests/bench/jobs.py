"""Jobs of a pool of 10, 100 and 1,000 pods: how fast they are placed, and how long from being submitted to starting.

Placing is the script `submit`, in turns with an empty one; what it placed is started and ended before the next turn.
Latency is of real processes, a worker and a runner: one job and one plain Celery task of the same runner in turn, so
that both meet the same seconds. The client places the job and sends it to the runner's queue, as it sends a plain task;
the runner asks the ledger before it starts a job. The other pods are idle entries of the ledger, and the runner is the
fullest, so that it is chosen among all of them each time.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import orjson
from celery import Celery
from kombu import Queue
from redis import Redis

from berthmaster.client import Fleet, Request
from berthmaster.jobs.job import Job, Placed, PoolLimits
from berthmaster.jobs.messages import queue_of
from berthmaster.jobs.runner_ledger import Report as Heartbeat
from berthmaster.jobs.scripts import load_scripts
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.redis.incarnation import INCARNATION, connect
from compose.sandbox.stack import Stack
from tests.bench.job_runner import HOLD, JOB, STARTS
from tests.bench.ledger import bench_redis
from tests.bench.measuring import Figure, Report, Tell, in_turns, percentile, rate, ratio
from tests.support.servers.celery_worker import CeleryProcess
from tests.support.waiting import eventually
from workers.stores.slots.preload import preload

NAME: Final = "jobs"
SIZES: Final = (10, 100, 1000)
LAYOUT: Final = ("*", ",plan,", ",plan,")
CALLS: Final = 10
"""Jobs a turn."""
FLAT, AGAINST_CELERY = 1.5, 3.0
"""The budgets."""
POOL: Final = "bench/runners"
RUNNER: Final = "runner-0"
PAUSE: Final = 0.03
HOLD_TIME: Final = timedelta(hours=24)
"""Of a reservation, by the spec of the pool."""


def run(quick: bool, tell: Tell) -> Report:
    tell("placing")
    with bench_redis() as redis:
        placing = placed_in_turns(redis, 30 if quick else 200)
    started = started_in_turns(150 if quick else 1000, tell)
    return Report(NAME, (*placing_figures(placing), *start_figures(started)), {"placing": placing, "ms": started})


# ---- placing


class Placing:
    """A pool of so many idle pods."""

    def __init__(self, redis: Redis, pods: int) -> None:
        self.ledger = SlotLedger(redis, load_scripts(redis), f"bench/pods-{pods}")
        self.ledger.begin([])
        for n in range(pods):
            add_pod(self.ledger, f"p{n}", LAYOUT)
        self.number = 0

    def turn(self) -> float:
        """Placements a second."""
        found: list[Placed] = []
        jobs = [Job(f"j{self.number + n}", ("plan",)) for n in range(CALLS)]
        self.number += CALLS
        measured = rate(CALLS, lambda: found.extend(one for job in jobs for one in self.ledger.submit(job)[1]))
        assert len(found) == CALLS
        for one in found:
            assert self.ledger.start(one.id, one.phase, one.attempt, one.uid)
            self.ledger.finish(one.id, one.phase, one.attempt, "succeeded")
        return measured


def add_pod(ledger: SlotLedger, uid: str, layout: tuple[str, ...]) -> None:
    """Reported, and open."""
    answer = ledger.report(Heartbeat(uid, uid, layout))
    ledger.report(Heartbeat(uid, uid, layout, answer.mark))
    assert ledger.open(uid) is not None


def placed_in_turns(redis: Redis, rounds: int) -> dict[str, list[float]]:
    empty, pools = redis.script_load("return ARGV[1]"), {str(size): Placing(redis, size) for size in SIZES}
    one_by_one = lambda: rate(CALLS, lambda: [redis.evalsha(empty, 1, "{sp:none}", INCARNATION) for _ in range(CALLS)])  # noqa: E731 - a name for a side
    sides: dict[str, Callable[[], float]] = {"empty": one_by_one}
    return in_turns(rounds, sides | {size: pool.turn for size, pool in pools.items()})


def placing_figures(rates: Mapping[str, list[float]]) -> list[Figure]:
    alike = [ratio(rates[str(size)], rates["empty"]) for size in SIZES]
    found = [
        Figure(f"placements against empty scripts, {size} pods", share, "x", note=f"{median(rates, size):.0f}/s here")
        for size, share in zip(SIZES, alike, strict=True)
    ]
    dearest = f"placing: dearest / cheapest, {SIZES[0]} to {SIZES[-1]} pods"
    return [*found, Figure(dearest, max(alike) / min(alike), "x", at_most=FLAT)]


def median(rates: Mapping[str, list[float]], size: int) -> float:
    return statistics.median(rates[str(size)])


# ---- from submitting to starting


class Starting:
    """A worker and a runner, in a pool to which idle pods are added."""

    def __init__(self, stack: Stack, folder: Path) -> None:
        self.redis, self.url = connect(stack.redis.url), stack.redis.url
        self.ledger = SlotLedger(self.redis, load_scripts(self.redis), POOL)
        self.ledger.begin([])
        assert not preload(self.ledger)  # no run of a pool does it here, nor the next
        self.ledger.resize("1-bench", None, 0, SIZES[-1], 1, PoolLimits(HOLD_TIME))
        self.fleet, self.pods = Fleet(self.url), 1
        self.celery: Any = Celery("plain", broker=self.url, set_as_current=False)
        self.queue = Queue(queue_of(POOL, RUNNER), routing_key=queue_of(POOL, RUNNER))
        environment = {
            "BERTHMASTER_RUNNER__POOL": POOL,
            "BERTHMASTER_RUNNER__POD": RUNNER,
            "BERTHMASTER_RUNNER__UID": RUNNER,
            "BERTHMASTER_RUNNER__SLOTS": orjson.dumps([[]] * 20).decode(),
            "BERTHMASTER_RUNNER__REDIS__URL": self.url,
            "BERTHMASTER_RUNNER__SPOOL": str(folder / "spool"),
            "PYTHONPATH": ":".join(sys.path),
        }
        app, options = "tests.bench.job_runner", ("--pool", "threads", "--loglevel", "WARNING")
        self.runner = CeleryProcess("worker", RUNNER, folder, self.url, environment, options, app).start()
        eventually(lambda: self.runner.running() and self.ledger.open(RUNNER) is not None, 60)
        self.hold()

    def hold(self) -> None:
        """A job that keeps a slot of the runner, which makes it the fullest pod."""
        self.fleet.submit(Request("held", POOL, HOLD))
        eventually(lambda: (record := self.ledger.record("held")) and record.state == "running", 60)

    def grow(self, pods: int) -> None:
        for n in range(self.pods, pods):
            add_pod(self.ledger, f"idle-{n}", ("*",) * 3)
        self.pods = pods

    def measure(self, count: int) -> dict[str, list[float]]:
        """Milliseconds, of jobs and of plain tasks in turn."""
        self.redis.delete(f"{STARTS}:job", f"{STARTS}:plain")
        for n in range(count):
            self.fleet.submit(Request(f"j{self.pods}-{n}", POOL, JOB, args=["job", time.time()]))
            time.sleep(PAUSE)
            self.celery.send_task(JOB, args=["plain", time.time()], queue=self.queue)
            time.sleep(PAUSE)
        eventually(lambda: len(self.noted("job")) + len(self.noted("plain")) >= 2 * count, 60)
        return {kind: self.noted(kind) for kind in ("job", "plain")}

    def noted(self, kind: str) -> list[float]:
        found: Any = self.redis.lrange(f"{STARTS}:{kind}", 0, -1)
        return [float(value) for value in found]

    def close(self) -> None:
        self.runner.kill()
        self.redis.close()
        self.celery.close()


def started_in_turns(count: int, tell: Tell) -> dict[str, dict[str, list[float]]]:
    """Of each size: milliseconds of jobs and of plain tasks."""
    found = {}
    with tempfile.TemporaryDirectory() as folder, Stack(Path(folder), flower=False, workers=1) as stack:
        stack.redis.start()
        stack.kube.start()
        stack.workers[0].launch()
        eventually(lambda: stack.heartbeat(stack.workers[0].name).exists(), 60)
        starting = Starting(stack, Path(folder))
        try:
            starting.measure(20)  # warm: connections, caches
            for size in SIZES:
                tell(f"{count} jobs in a pool of {size} pods")
                starting.grow(size)
                found[str(size)] = starting.measure(count)
        finally:
            starting.close()
    return found


def start_figures(found: Mapping[str, Mapping[str, list[float]]]) -> list[Figure]:
    figures = []
    for size, late in found.items():
        at = {share: {kind: percentile(late[kind], share) for kind in late} for share in (0.5, 0.99)}
        for share, budget in ((0.5, None), (0.99, AGAINST_CELERY)):
            job, plain = at[share]["job"], at[share]["plain"]
            what = f"submit -> start against plain Celery, {size} pods, p{share * 100:.0f}"
            figures.append(Figure(what, job / plain, "x", at_most=budget, note=f"{job:.1f} ms, plain {plain:.1f}"))
    middle = [percentile(late["job"], 0.5) for late in found.values()]
    dearest = f"submit -> start, p50: dearest / cheapest, {SIZES[0]} to {SIZES[-1]} pods"
    return [*figures, Figure(dearest, max(middle) / min(middle), "x", at_most=FLAT)]
