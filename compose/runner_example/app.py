"""An example of a runner. Its worker runs the jobs of its own pod: `celery -A compose.runner_example.app worker`.

A deployment in two phases: the plan names the changes, and the slot stays reserved until a person decides.
"""

from __future__ import annotations

import time
from typing import Any

from celery import Celery, Task
from celery.utils.log import get_task_logger

from berthmaster.runner import current, install

app: Celery[Any] = Celery("runner")  # its broker is the Redis in the pod's environment
install(app)
log = get_task_logger(__name__)


@app.task(bind=True, name="deploy")
def deploy(self: Task[Any, Any], service: str, changes: int = 1) -> str:
    """Plan or apply a deployment, and return what changes."""
    now = current(self)  # None for a task that is sent without a job
    log.info("%s of %s", now.phase if now else "plan", service)  # berthmaster logs shows it
    if now and now.phase == "apply":
        time.sleep(1.5)  # here: apply the changes
        return f"{service}: {changes} changes applied"
    time.sleep(1)  # here: only compute the changes
    return f"{service}: {changes} changes to make"
