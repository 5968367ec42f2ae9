"""An example of a runner. Its worker runs the jobs of its own pod: `celery -A compose.runner_example.app worker`.

A deployment in two phases: the plan says what it would change, and the slot is kept until a person has seen it.
"""

from __future__ import annotations

import time
from typing import Any

from celery import Celery, Task

from berthmaster.runner import current, install

app: Celery[Any] = Celery("runner")  # its broker is the Redis that the pod is told of
install(app)


@app.task(bind=True, name="deploy")
def deploy(self: Task[Any, Any], service: str, changes: int = 1) -> str:
    now = current(self)  # None when somebody sends the task without a job
    if now and now.phase == "apply":
        time.sleep(1.5)  # here: what changes the world
        return f"{service}: {changes} changes applied"
    time.sleep(1)  # here: what only looks
    return f"{service}: {changes} changes to make"
