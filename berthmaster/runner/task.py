"""A Celery task that asks the slot ledger before it runs, and reports how it ended."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import celery
from celery.exceptions import Ignore

from berthmaster.celery.settlement import SETTLED
from berthmaster.jobs.job import Placed
from berthmaster.jobs.messages import HEADER, placed_of
from berthmaster.jobs.result import kept
from berthmaster.logger import get_logger
from berthmaster.runner.attempts import AWAY, Attempts

log = get_logger(__name__)
PATIENCE: Final = 30.0  # seconds that a start waits for Redis; then the message is given up, and sent again
PAUSE: Final = 0.5
ENDED: Final = "the process was ended"
"""The result of an attempt whose process was ended by a signal."""
SIGTERM_EXIT: Final = signal.SIGTERM - 256
"""What the processes of Celery exit with on SIGTERM."""


@dataclass(frozen=True)
class Current:
    """The phase and the job of a running task."""

    job: str
    phase: str
    attempt: str


def current(task: celery.Task[Any, Any]) -> Current | None:
    """Return the current job, None outside of one."""
    header = task.request.get(HEADER)
    return Current(header["id"], header["phase"], header["attempt"]) if header else None


def job_task(attempts: Callable[[], Attempts], base: type[celery.Task[Any, Any]]) -> type[celery.Task[Any, Any]]:
    """Return a task class over `base`. Tasks that are sent without our header run as usual."""

    class JobTask(base):  # type: ignore[valid-type,misc] # the base is the application's own class
        abstract = True
        Request = SETTLED if base.Request == celery.Task.Request else base.Request

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            header = self.request.get(HEADER)
            if not header:
                return super().__call__(*args, **kwargs)
            placed = placed_of(header)
            if not granted(attempts(), placed):
                log.info("start_refused", job=placed.id, attempt=placed.attempt)
                raise Ignore
            return self._execute(placed, args, kwargs)

        def _execute(self, placed: Placed, args: Any, kwargs: Any) -> Any:
            try:
                with attempts().logged(placed):
                    result = super().__call__(*args, **kwargs)
            except (Exception, SystemExit) as error:  # in a thread nothing else would notice an exit
                by_signal = isinstance(error, SystemExit) and error.code == SIGTERM_EXIT
                attempts().end(placed.attempt, "failed", text_of(ENDED if by_signal else _words(error)))
                raise
            attempts().end(placed.attempt, "succeeded", "" if result is None else text_of(result))
            return result

    return JobTask


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def text_of(result: Any) -> str:
    """Return text that can be stored: names of files may contain bytes that are not UTF-8."""
    return kept(str(result)).encode(errors="replace").decode()


def granted(attempts: Attempts, placed: Placed) -> bool:
    """Ask until Redis answers. A message that is given up is sent again, because its job stays placed."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return attempts.start(placed)
        except AWAY as error:
            if time.monotonic() > until:
                log.warning("start_given_up", job=placed.id, attempt=placed.attempt, reason=str(error))
                return False
            time.sleep(PAUSE)
