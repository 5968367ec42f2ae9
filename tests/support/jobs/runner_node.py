"""A node of many light runner pods in one process: `python -m tests.support.jobs.runner_node`. SIGKILL kills them all.

Each pod has the runner's own parts (Attempts, Spool, JobTask); only Celery's consumer is replaced by a look at the
pods' queues. Lines of stdin are orders: `run {environment}` or `stop NAME`, answered by a JSON list of what ran there.
"""

from __future__ import annotations

import base64
import os
import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import structlog
from celery import Celery, Task
from redis import Redis, RedisError

from berthmaster.jobs.dispatch import Dispatcher
from berthmaster.jobs.job import Placed
from berthmaster.jobs.messages import HEADER, JobSender, placed_of, queue_of
from berthmaster.jobs.scripts import load_scripts
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.redis.client import connect_state
from berthmaster.redis.settings import RedisSettings
from berthmaster.runner.attempts import AWAY, Attempts
from berthmaster.runner.settings import RunnerSettings
from berthmaster.runner.spool import Spool
from berthmaster.runner.task import job_task
from tests.support.jobs.job_diary import Pen, Run, work

log = structlog.get_logger()
HERE = threading.local()
MOST = 200
"""Jobs at a time."""


class LightPod:
    def __init__(self, settings: RunnerSettings, ledger: SlotLedger, dispatcher: Dispatcher) -> None:
        self.settings, self.queue = settings, queue_of(settings.pool, settings.pod)
        self.spool = Spool(settings.spool)
        self.attempts = Attempts(settings, ledger, dispatcher, self.spool)
        self.taken: set[str] = set()
        self.running: set[str] = set()
        self.stopped: set[str] = set()
        self.ending = threading.Event()
        self.attempts.lost()

    @property
    def room(self) -> bool:
        return len(self.taken) < len(self.settings.slots) and not self.ending.is_set()

    def stop(self, attempt: str) -> bool:
        if attempt not in self.running:
            return False
        self.stopped.add(attempt)
        return True

    def heart(self) -> None:
        while not self.ending.is_set():
            try:
                self.attempts.beat(self.stop)
            except AWAY as error:
                log.warning("report_unheard", reason=str(error))
            except Exception:
                log.exception("report_failed")
            self.ending.wait(self.settings.heartbeat.total_seconds())


class Node:
    def __init__(self, url: str, pool: str, diary: Path) -> None:
        redis = connect_state(RedisSettings(url=url))
        self.ledger = SlotLedger(redis, load_scripts(redis), pool)
        self.dispatcher = Dispatcher(self.ledger, JobSender(url, pool))
        self.queues, self.pen = Redis.from_url(url), Pen(diary)
        self.pods: dict[str, LightPod] = {}
        self.hands = ThreadPoolExecutor(MOST)
        self.task = self.made_task()

    def made_task(self) -> Task[Any, Any]:
        app: Any = Celery("node", broker="memory://", set_as_current=False)
        app.task_cls = job_task(lambda: HERE.pod.attempts, Task)

        @app.task(name="storm")
        def storm(seconds: float) -> str:
            return self.work(HERE.pod, HERE.placed, seconds)

        task: Task[Any, Any] = app.tasks["storm"]
        return task

    def work(self, pod: LightPod, placed: Placed, seconds: float) -> str:
        kept = pod.spool.get(placed.attempt)
        run = Run(placed.id, placed.phase, placed.attempt, pod.settings.uid, kept.slot if kept else 0)
        pod.running.add(placed.attempt)
        try:
            return work(self.pen, run, seconds, lambda: placed.attempt in pod.stopped)
        finally:
            pod.running.discard(placed.attempt)

    def run_one(self, pod: LightPod, message: Any) -> None:
        header = message["headers"][HEADER]
        HERE.pod, HERE.placed = pod, placed_of(header)
        _, kwargs, _ = orjson.loads(base64.b64decode(message["body"]))
        self.task.push_request(id=HERE.placed.attempt, **{HEADER: header})
        try:
            self.task(**kwargs)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the task has told it
            log.info("task_ended", attempt=HERE.placed.attempt, why=str(error))
        finally:
            self.task.pop_request()
            pod.taken.discard(message["properties"]["delivery_tag"])

    def consume(self) -> None:
        while True:
            waiting = {pod.queue: pod for pod in list(self.pods.values()) if pod.room}
            try:
                found: Any = self.queues.brpop(random.sample(sorted(waiting), len(waiting)), 1) if waiting else None
            except (*AWAY, RedisError):
                found = None
                time.sleep(0.2)
            if found:
                pod, message = waiting[found[0].decode()], orjson.loads(found[1])
                pod.taken.add(message["properties"]["delivery_tag"])
                self.hands.submit(self.run_one, pod, message)
            elif not waiting:
                time.sleep(0.02)

    # ---- orders

    def run(self, told: dict[str, Any]) -> list[str]:
        pod = LightPod(RunnerSettings(**told), self.ledger, self.dispatcher)
        self.pods[pod.settings.pod] = pod
        threading.Thread(target=pod.heart, daemon=True).start()
        return []

    def stop(self, name: str) -> list[str]:
        pod = self.pods.pop(name)
        pod.ending.set()
        return sorted(pod.running)


def main() -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))  # stdout has the answers
    node = Node(os.environ["URL"], os.environ["POOL"], Path(os.environ["DIARY"]))
    threading.Thread(target=node.consume, daemon=True).start()
    for line in sys.stdin:
        order, _, about = line.strip().partition(" ")
        answer = node.run(orjson.loads(about)) if order == "run" else node.stop(about)
        sys.stdout.write(orjson.dumps(answer).decode() + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
