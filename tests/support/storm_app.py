"""The application of the real runner processes of a storm of jobs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from celery import Celery, Task

from tests.support.job_diary import Pen, Run, work
from workers.runner import RunnerSettings, current, install
from workers.runner.spool import Spool

app: Celery[Any] = Celery("storm")
install(app)
settings = RunnerSettings()
pen, spool = Pen(Path(os.environ["DIARY"])), Spool(settings.spool)


@app.task(bind=True, name="storm")
def storm(self: Task[Any, Any], seconds: float) -> str:
    now = current(self)
    assert now
    kept = spool.get(now.attempt)
    return work(pen, Run(now.job, now.phase, now.attempt, settings.uid, kept.slot if kept else 0), seconds)
