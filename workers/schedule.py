"""Beat's schedule: Celery's own, with a heartbeat for the probe."""

from __future__ import annotations

import sys
from typing import Any, Final

from celery.beat import Scheduler

from events.identity import OTHER_FLEET, Identity
from workers import heartbeat
from workers.settings import WorkerSettings
from workers.stores.client import connect_briefly, other_fleet

LOOK_EVERY: Final = 60
"""Ticks between two looks at whose Redis it is."""


class Schedule(Scheduler):
    """Touches a file after each look, and looks each second; one that hangs in a call touches nothing. It ends when its
    Redis belongs to another fleet.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        settings = WorkerSettings()
        self._redis, self._ticks = connect_briefly(settings.redis, Identity(settings.cluster)), 0
        self._refuse_another_fleet()
        self._file = heartbeat.of_beat(settings.celery.heartbeat_file)
        heartbeat.forget(self._file)

    def tick(self, *arguments: Any, **options: Any) -> float:
        """Seconds until the next look."""
        self._ticks += 1
        if self._ticks % LOOK_EVERY == 0:
            self._refuse_another_fleet()
        wait: float = super().tick(*arguments, **options)
        heartbeat.beat(self._file)
        return wait

    def _refuse_another_fleet(self) -> None:
        if refusal := other_fleet(self._redis):
            sys.stderr.write(f"{refusal}\n")
            raise SystemExit(OTHER_FLEET)
