"""A Celery application as any other, which knows nothing of how the hints were made. Run by its test in a process."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from redis import Redis

from berthmaster import routing

RAN = "ran"
app = Celery("stock", broker=os.environ.get("STOCK_BROKER", "memory://"))
app.conf.update(task_ignore_result=True, task_acks_late=True, worker_prefetch_multiplier=1)


def note(task: Any, argument: str | int) -> None:
    with Redis.from_url(os.environ["STOCK_BROKER"]) as redis:
        redis.rpush(RAN, f"{task.name} {argument} {task.request.id}")


for name in (routing.PORTS_RECONCILE, routing.POOLS_RECONCILE, routing.QUEUE_DRAIN):
    app.task(name=name, bind=True)(note)
