"""The worker's own application with one more task, which does nothing: what Celery itself costs, with our settings."""

from __future__ import annotations

from typing import Final

from celery import shared_task

from workers.app import TASKS, create_app

EMPTY: Final = "bench.empty"
app = create_app(tasks=(*TASKS, "tests.bench.empty_task"))


@shared_task(name=EMPTY)
def empty(_key: str) -> None:
    """Takes what `ports.reconcile` takes."""
