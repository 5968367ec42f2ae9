"""Replace a few pods periodically, so that people see ports released and allocated again."""

from __future__ import annotations

import time
from random import Random
from typing import Final

import structlog

from compose.sandbox.picture import Picture
from compose.sandbox.workload import Workload
from events.kube.api import KubeError

log = structlog.get_logger()
EVERY: Final = 4.0  # seconds
MOST: Final = 3  # pods at a time


class Churn:
    """Replaces a few pods by new ones; the number of pods stays the same."""

    def __init__(self, workload: Workload, pods: int, random: Random) -> None:
        self.workload, self.pods, self.random = workload, pods, random
        self.due = time.monotonic() + EVERY

    def step(self, picture: Picture) -> None:
        """Replace pods if EVERY seconds have passed. Call it often."""
        if time.monotonic() < self.due:
            return
        self.due = time.monotonic() + EVERY
        try:
            self.replace(picture)
        except KubeError as error:  # deleted by hand, for example; a dead API server is noticed elsewhere
            log.info("churn_refused", error=str(error))

    def replace(self, picture: Picture) -> None:
        """Replace some of our pods. Pods that somebody else created stay."""
        ours = self.workload.created
        for _ in range(min(MOST, self.pods - sum(name in ours for name in picture.pods))):
            self.workload.add_pod()
        names = sorted(pod.name for pod in picture.bound if pod.name in ours)
        for name in self.random.sample(names, min(len(names), self.random.randint(1, MOST))):
            self.workload.delete_pod(name)
