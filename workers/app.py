"""The Celery application: `celery -A workers.app worker`, `beat` or `flower`.

Its configuration is a promise that Celery asks for when it first needs a setting, so that importing this module
reads no environment and connects to nothing.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from pkgutil import iter_modules
from typing import Any

from celery import Celery
from celery.signals import beat_init, setup_logging, worker_process_shutdown

from berthmaster.celery import kept_client, transport_guard
from events import grace
from workers import tasks
from workers.celery_app.bootsteps import CONSUMER_STEPS, WORKER_STEPS
from workers.celery_app.settings import configuration
from workers.kube.event_outbox import flush_all
from workers.settings import WorkerSettings
from workers.tasks.payloads import CheckedTask
from workers.telemetry import logs, task_summary

TASKS = tuple(f"{tasks.__name__}.{module.name}" for module in iter_modules(tasks.__path__))
"""The modules of workers/tasks. A new module needs no registration."""


def create_app(
    settings: Callable[[], WorkerSettings] = WorkerSettings, tasks: Sequence[str] = TASKS
) -> Celery[CheckedTask]:
    """An application of the modules named in `tasks`, configured by what `settings` answers when it is first asked."""
    transport_guard.install()
    kept_client.install()
    application = Celery("berthmaster", include=list(tasks), task_cls=CheckedTask)

    def configured() -> dict[str, Any]:
        return configuration(settings())

    def log_joined(**_details: Any) -> None:
        chosen = settings()
        logs.set_up(chosen.log, [task_summary.listen] if chosen.celery.task_events else [])

    application.add_defaults(configured)

    def end_at_once_when_asked(**_details: Any) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, grace.end_at_once)

    def flush_events(**_details: Any) -> None:
        flush_all()

    beat_init.connect(end_at_once_when_asked, weak=False, dispatch_uid="berthmaster")  # after Celery's own handlers
    setup_logging.connect(log_joined, weak=False, dispatch_uid="berthmaster")  # Celery then leaves logging alone
    worker_process_shutdown.connect(flush_events, weak=False, dispatch_uid="berthmaster")  # children skip atexit
    application.steps["worker"].update(WORKER_STEPS)
    application.steps["consumer"].update(CONSUMER_STEPS)
    return application


app = create_app()
