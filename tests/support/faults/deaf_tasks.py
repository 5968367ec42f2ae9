"""The real worker with a task whose messages nobody settles: a fault that nobody foresaw."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from celery.worker.request import Request

from berthmaster import routing
from workers.app import create_app

app = create_app(tasks=("tests.support.faults.deaf_tasks",))


class DeafRequest(Request):
    """Its message stays unsettled."""

    def acknowledge(self) -> None:
        pass


OPTIONS: dict[str, Any] = {"name": routing.PORTS_RECONCILE, "Request": f"{__name__}:{DeafRequest.__name__}"}


@shared_task(**OPTIONS)
def reconcile(*_args: Any) -> None:
    pass
