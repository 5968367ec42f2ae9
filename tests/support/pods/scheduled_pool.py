"""A pool of warm pods on an API server whose clock the test sets, as time goes on for hours."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from berthmaster.clock import ServerClock
from events.kube.api import KubeApi
from tests.support.pods.pod_pool_world import PodPoolWorld

HOUR = timedelta(hours=1)


class SetClock(ServerClock):
    """The time that the test has set."""

    def __init__(self, time: datetime) -> None:
        super().__init__()
        self.time = time

    def now(self) -> datetime:
        return self.time


class ScheduledPool:
    """`start`: when the schedules of `at_start` begin, an hour from the time at which the pool was made."""

    def __init__(self, pool: PodPoolWorld) -> None:
        self.pool = pool
        now = datetime.now(UTC).replace(second=0, microsecond=0)
        self.start, self.clock = now + HOUR, SetClock(now)
        kube = KubeApi(pool.api.connection, pool.api.timeout, pool.api.agent)
        kube.clock = self.clock
        pool.services = replace(pool.services, kube=kube)

    def schedule(self, name: str = "office", **effects: Any) -> dict[str, Any]:
        """A schedule that begins at `start` and lasts an hour."""
        return {"name": name, "cron": f"{self.start:%M %H} * * *", "duration": "1h"} | effects

    def go_to(self, time: datetime) -> None:
        self.clock.time = time

    def condition(self) -> dict[str, str] | None:
        """The condition Schedules, without its type."""
        conditions = {each.pop("type"): each for each in self.pool.status()["conditions"]}
        found: dict[str, str] | None = conditions.get("Schedules")
        return found
