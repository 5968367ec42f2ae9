"""An application of a runner pod. Its task notes how late it starts, sent as a job or plainly; another never ends."""

from __future__ import annotations

import os
import time
from typing import Any, Final

from celery import Celery, shared_task

from berthmaster.redis.incarnation import connect
from berthmaster.runner import install

JOB: Final = "bench.job"
HOLD: Final = "bench.hold"
STARTS: Final = "bench:starts"
URL: Final = os.environ.get("BERTHMASTER_RUNNER__REDIS__URL", "")
app: Celery[Any] = Celery("bench", broker=URL)
install(app)
redis = connect(URL) if URL else None


@shared_task(name=JOB)
def job(kind: str, sent: float) -> None:
    """Milliseconds since it was sent."""
    late = (time.time() - sent) * 1000
    assert redis
    redis.rpush(f"{STARTS}:{kind}", late)


@shared_task(name=HOLD)
def hold() -> None:
    time.sleep(3600)
