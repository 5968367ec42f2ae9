"""The application of the real runner processes of a storm of jobs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from celery import Celery, Task

from berthmaster.runner import RunnerSettings, current, install
from berthmaster.runner.spool import Spool
from tests.support.jobs.job_diary import Pen, Run, work

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
