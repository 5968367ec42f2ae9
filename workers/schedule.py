"""Beat's schedule: Celery's own, with a heartbeat for the probe."""

from __future__ import annotations

from typing import Any

from celery.beat import Scheduler

from workers import heartbeat
from workers.settings import WorkerSettings


class Schedule(Scheduler):
    """Touches a file after each look, and looks each second; one that hangs in a call touches nothing."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._file = heartbeat.of_beat(WorkerSettings().celery.heartbeat_file)
        heartbeat.forget(self._file)

    def tick(self, *arguments: Any, **options: Any) -> float:
        """Seconds until the next look."""
        wait: float = super().tick(*arguments, **options)
        heartbeat.beat(self._file)
        return wait
