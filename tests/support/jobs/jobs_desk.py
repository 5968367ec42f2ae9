"""The worker's side of a pod pool in a thread: takes what clients ask for, late if told, and runs what was placed."""

from __future__ import annotations

import time
from base64 import b64decode
from collections import Counter
from datetime import timedelta
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Final, Self

import orjson

from berthmaster import routing
from berthmaster.jobs.job import PoolLimits
from berthmaster.jobs.payloads import CancelJob, ConfirmJob, SubmitJob
from tests.support.jobs.slot_world import SlotWorld
from workers.tasks.payloads import read

LIMITS: Final = PoolLimits(timedelta(minutes=1))


class JobsDesk:
    """`lose`: how many messages of a task are still to be lost. Hold `lock` to touch the world."""

    def __init__(self, world: SlotWorld, late: float = 0) -> None:
        self.world, self.late, self.lock = world, late, Lock()
        self.lose: Counter[str] = Counter()
        self._over, self._thread = Event(), Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def _serve(self) -> None:
        while not self._over.is_set():
            found: Any = self.world.redis.rpop(routing.JOBS)
            if not found:
                time.sleep(0.01)
                continue
            message = orjson.loads(found)
            task, body = message["headers"]["task"], orjson.loads(b64decode(message["body"]))
            if self.lose[task] > 0:
                self.lose[task] -= 1
                continue
            time.sleep(self.late)
            with self.lock:
                self._take(task, tuple(body[0]))
                self._run()

    def _take(self, task: str, args: tuple[Any, ...]) -> None:
        if task == routing.SLOTS_SUBMIT:
            self.world.send(self.world.ledger.submit(read(SubmitJob, args, {}).job.job(LIMITS))[1])
        elif task == routing.SLOTS_CONFIRM:
            confirmed = read(ConfirmJob, args, {})
            self.world.confirm(confirmed.id, confirmed.plan, confirmed.by)
        else:
            cancelled = read(CancelJob, args, {})
            self.world.cancel(cancelled.id, cancelled.by)

    def _run(self) -> None:
        self.world.deliver_all()
        for runner in self.world.runners.values():
            for attempt in tuple(runner.running):
                self.world.ended(runner.uid, attempt)
