"""Wires a runner into a Celery application: its task class, its queue, its heartbeat."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from functools import lru_cache
from typing import Any, Final

from celery import Celery, signals
from celery.worker import state
from kombu import Queue
from kombu.utils.imports import symbol_by_name

from berthmaster.broker.address import TIMEOUTS, broker_of
from berthmaster.broker.sending import OPTIONS
from berthmaster.celery import kept_client, transport_guard
from berthmaster.jobs.dispatch import Dispatcher
from berthmaster.jobs.messages import HEADER, JobSender, placed_of, queue_of
from berthmaster.jobs.runner_ledger import RunnerLedger
from berthmaster.jobs.scripts import preloaded_scripts
from berthmaster.logger import get_logger
from berthmaster.redis.client import connect_briefly, connect_state, unusable
from berthmaster.redis.identity import Identity
from berthmaster.redis.refusals import warn
from berthmaster.redis.settings import RedisSettings
from berthmaster.redis.unusable import UNUSABLE
from berthmaster.runner import mutex
from berthmaster.runner.attempts import AWAY, Attempts
from berthmaster.runner.capture import CAPTURE
from berthmaster.runner.narrow import narrowed
from berthmaster.runner.settings import RunnerRedis, RunnerSettings, settings_of_pod
from berthmaster.runner.spool import Spool
from berthmaster.runner.task import ENDED, job_task

log = get_logger(__name__)
OF_CELERY: Final = "celery.worker.consumer:Consumer"
TOLERANT: Final = "berthmaster.celery.consumer:TolerantConsumer"
SIGNAL_AGAIN: Final = 60.0
"""Seconds between two SIGTERM for one attempt. The first one lets its process clean up, the second ends most others."""


def install(app: Celery[Any], settings: Callable[[], RunnerSettings] = settings_of_pod) -> None:
    """Make the application a runner. Call it where the application is created.

    `settings` is called when the worker starts, or a task first runs; by default it reads the pod's environment, and
    raises an error that names the variables which are missing or wrong.
    """

    @lru_cache(maxsize=1)
    def attempts_of(process: int) -> Attempts:  # noqa: ARG001 - a forked child makes its own connections
        return _attempts(app, settings())

    def attempts() -> Attempts:
        return attempts_of(os.getpid())

    def start(sender: Any = None, **_: Any) -> None:
        attempts().lost()
        Heart(attempts(), sender, settings().heartbeat.total_seconds()).start()

    def narrow(instance: Any = None, conf: Any = None, **_: Any) -> None:
        if instance and instance.app is app:
            _refuse_unusable(settings().redis)
            tolerant = {"worker_consumer": TOLERANT} if conf.worker_consumer == OF_CELERY else {}
            conf.update({**tolerant, **fitted(settings(), conf)})

    transport_guard.install()
    kept_client.install()
    mutex.install()
    _set_task_class(app, attempts)
    app.add_defaults(lambda: configuration(settings()))
    signals.celeryd_init.connect(narrow, weak=False, dispatch_uid=f"narrow-{id(app)}")
    signals.worker_process_init.connect(CAPTURE.own_process, weak=False, dispatch_uid="berthmaster-log")
    signals.worker_ready.connect(start, weak=False, dispatch_uid=f"berthmaster-runner-{id(app)}")
    signals.task_unknown.connect(_unknown(attempts), weak=False, dispatch_uid=f"unknown-{id(app)}")
    signals.task_revoked.connect(_ended(attempts, "cancelled"), weak=False, dispatch_uid=f"revoked-{id(app)}")
    signals.task_failure.connect(_ended(attempts, "failed"), weak=False, dispatch_uid=f"failure-{id(app)}")


def _refuse_unusable(settings: RunnerRedis) -> None:
    """End a runner whose Redis can never serve it. A fleet's name is compared later: jobs in hand go on."""
    with closing(connect_briefly(RedisSettings(url=settings.address))) as redis:
        refusal = unusable(redis)
    if refusal:
        sys.stderr.write(f"{refusal}\n")
        raise SystemExit(UNUSABLE)


def fitted(settings: RunnerSettings, conf: Any) -> dict[str, Any]:
    """Return the settings for Celery that the application cannot know; {} if its broker is another one."""
    broker = broker_of(settings.redis.address)
    if conf.broker_url != broker.url:
        return {}
    options = {**TIMEOUTS, **conf.broker_transport_options, **broker.options}
    return narrowed(settings.pool, options) if settings.redis.username else {"broker_transport_options": options}


def _set_task_class(app: Any, attempts: Callable[[], Attempts]) -> None:
    app.task_cls = job_task(attempts, symbol_by_name(app.task_cls))
    app.__dict__.pop("Task", None)  # made from it, and kept


def configuration(settings: RunnerSettings) -> dict[str, Any]:
    """Return the Celery settings of a runner."""
    queue = queue_of(settings.pool, settings.pod)
    broker = broker_of(settings.redis.address)
    return {
        "broker_url": broker.url,
        "broker_transport_options": {**TIMEOUTS, **broker.options},
        "task_queues": [Queue(queue, routing_key=queue)],
        "task_default_queue": queue,
        "worker_concurrency": len(settings.slots),
        "worker_prefetch_multiplier": 1,
        "task_acks_late": False,  # a start is granted once: a message that comes again would be refused
        "task_track_started": False,
    }


def _attempts(app: Celery[Any], settings: RunnerSettings) -> Attempts:
    fleet = Identity(settings.cluster) if settings.cluster else None
    redis = connect_state(RedisSettings(url=settings.redis.address), fleet)
    ledger = RunnerLedger(redis, preloaded_scripts(redis), settings.pool)
    sender = JobSender(app.connection_for_write(transport_options=OPTIONS), settings.pool)
    return Attempts(settings, ledger, Dispatcher(ledger, sender), Spool(settings.spool))


def _ended(attempts: Callable[[], Attempts], outcome: str) -> Callable[..., None]:
    """Report in the worker that a process was stopped or killed, as that process cannot. A repetition counts once."""

    def on_signal(request: Any = None, task_id: str | None = None, **_: Any) -> None:
        attempt = task_id or (request.id if request else None)
        if attempt:
            attempts().end(attempt, outcome, ENDED)

    return on_signal


def _unknown(attempts: Callable[[], Attempts]) -> Callable[..., None]:
    """Fail a job whose task this application does not have: otherwise the job is sent again for ever."""

    def on_signal(message: Any = None, name: str = "", **_: Any) -> None:
        header = (message.headers or {}).get(HEADER) if message else None
        if header:
            placed = placed_of(header)
            if attempts().start(placed):
                attempts().end(placed.attempt, "failed", f"the runner has no task {name!r}")

    return on_signal


class Heart(threading.Thread):
    """A thread that reports periodically while the worker lives."""

    def __init__(self, attempts: Attempts, consumer: Any, period: float) -> None:
        super().__init__(name="berthmaster-heart", daemon=True)
        self._attempts, self._consumer, self._period = attempts, consumer, period
        self._signals: dict[str, float] = {}  # attempt -> monotonic time of its last SIGTERM

    def run(self) -> None:
        """Report once a period, for ever. No error ends the thread."""
        while True:
            try:
                self._attempts.beat(self._stop_attempt)
            except AWAY as error:
                warn(log, "report_unheard", error)
            except Exception:
                log.exception("report_failed")
            time.sleep(self._period)

    def _stop_attempt(self, attempt: str) -> bool:
        """Send SIGTERM to the process of the attempt. Threads cannot be stopped: their code may read `current`.

        Not by `terminate` of the request, which says at once that the task was revoked: the process may ignore the
        signal, or take its time. Celery says so by itself when the process has ended. False: nothing of it runs.
        """
        try:
            requests = {request.id: request for request in list(state.active_requests)}
        except RuntimeError:  # Celery's own thread has changed the set meanwhile: the next beat looks again
            return True
        self._signals = {active: sent for active, sent in self._signals.items() if active in requests}
        if attempt not in requests:
            return any(request.id == attempt for request in list(state.reserved_requests))  # not accepted yet
        if time.monotonic() - self._signals.get(attempt, -SIGNAL_AGAIN) >= SIGNAL_AGAIN:
            self._signals[attempt] = time.monotonic()
            self._signal(attempt, requests[attempt])
        return True

    def _signal(self, attempt: str, request: Any) -> None:
        try:
            self._consumer.pool.terminate_job(request.worker_pid, signal.SIGTERM)
        except NotImplementedError:
            log.warning("stop_unsupported", attempt=attempt, pool=type(self._consumer.pool).__name__)
