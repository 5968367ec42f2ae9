"""A beat that a signal nearly always finds in a destructor, out of which Python lets no exception pass."""

from __future__ import annotations

import sys
import time
from typing import Any

from workers.app import create_app
from workers.celery_app.schedule import Schedule

app = create_app()


class Slow:
    def __del__(self) -> None:
        sys.stderr.write("destroys\n")
        until = time.monotonic() + 1
        while time.monotonic() < until:
            time.sleep(0.01)


class SlowSchedule(Schedule):
    def tick(self, *arguments: Any, **options: Any) -> float:
        Slow()
        super().tick(*arguments, **options)
        return 0
