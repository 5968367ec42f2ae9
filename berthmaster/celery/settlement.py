"""A Celery request that settles its message whatever goes wrong around the task.

Celery acknowledges late, in callbacks of its pool. Nobody notices an error in such a callback, or in the thread pool
outside of the task, and the message counts against the prefetch limit until the process ends. After as many such
messages as the limit allows, the worker consumes nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import wraps
from typing import Any, Final

from celery.exceptions import TaskRevokedError
from celery.worker.request import Request
from celery.worker.state import task_ready

from berthmaster.celery.envelope import brief
from berthmaster.logger import get_logger
from berthmaster.metrics import MESSAGES_REFUSED

log = get_logger(__name__)
CALLBACKS: Final = ("on_accepted", "on_success", "on_failure", "on_timeout", "on_retry")
HANDS_OVER: Final = "execute_using_pool"
SETTLED: Final = f"{__name__}:SettledRequest"
"""The value of `Request` for a task class."""


def settling(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a callback of the pool so that it settles the message and raises nothing."""

    @wraps(callback)
    def settled(self: SettledRequest, *args: Any, **options: Any) -> Any:
        try:
            return callback(self, *args, **options)
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody else would notice
            return self.settle(error)

    return settled


def handing_over(execute: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `execute_using_pool` so that the message is settled even if the pool does not take or finish the task."""

    @wraps(execute)
    def handed(self: SettledRequest, pool: Any, **options: Any) -> Any:
        try:
            result = execute(self, pool, **options)
        except TaskRevokedError:
            raise
        except Exception as error:
            self.settle(error)
            raise TaskRevokedError(str(self.id)) from error  # Celery then gives back the place in the pool
        future = getattr(result, "f", None)
        if isinstance(future, Future):
            future.add_done_callback(self.on_thread_ended)
        return result

    return handed


class SettledRequest(Request):
    """A request that settles its message.

    Celery derives a class of each task from it, and overrides methods there. Those are guarded as well.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in CALLBACKS:
            if name in vars(cls):
                setattr(cls, name, settling(vars(cls)[name]))
        if HANDS_OVER in vars(cls):
            setattr(cls, HANDS_OVER, handing_over(vars(cls)[HANDS_OVER]))

    on_accepted = settling(Request.on_accepted)
    on_success = settling(Request.on_success)
    on_failure = settling(Request.on_failure)
    on_timeout = settling(Request.on_timeout)
    on_retry = settling(Request.on_retry)
    execute_using_pool = handing_over(Request.execute_using_pool)

    def on_thread_ended(self, future: Future[Any]) -> None:
        """Settle after an error, since such a thread has called no callback. A cancelled thread's message is left to
        others.
        """
        if not future.cancelled() and (error := future.exception()):
            self.settle(error)

    def settle(self, error: BaseException) -> None:
        """Log that nothing settled the message, and reject it."""
        MESSAGES_REFUSED.labels("unsettled").inc()
        log.error("message_unsettled", task=brief.repr(self.name), id=brief.repr(self.id), error=brief.repr(str(error)))
        with suppress(Exception):
            task_ready(self)
        with suppress(Exception):
            self.reject(requeue=False)
