"""What a task did, for who looks at it in Flower: lines of the log that tell of a transition become its states, and its
result.

So there is one place that tells, the log, and nothing of this where task events are off.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

from celery import current_task
from kombu.exceptions import LimitExceeded, OperationalError
from structlog.typing import EventDict

SHOWN: Final = frozenset(
    {
        *("port_allocated", "allocation_failed", "port_inherited", "port_released", "pod_state_changed"),
        *("scale_up_requested", "load_balancers_added", "scale_up_failed", "load_balancer_removed"),
        *("pool_resized", "pod_created", "pod_deleted", "pod_removed"),
        *("job_submitted", "job_placed", "job_confirmed", "job_cancelled", "reservation_expired"),
        *("pod_taken", "pod_given_back", "claim_changed", "claim_set_step"),
    }
)
UNSAID: Final = frozenset({"event", "level", "logger", "timestamp", "key", "token", "tries"})
MOST: Final = 20
"""Lines that a result has; a task that does more says how many."""
UNSENT: Final = (OperationalError, LimitExceeded, OSError)
_lines: ContextVar[list[str] | None] = ContextVar("lines", default=None)


def told(run: Callable[[], None]) -> str | None:
    """Runs a task; what it did, in a line. None: nothing, or nobody asks."""
    if not current_task or not current_task.app.conf.worker_send_task_events:
        run()
        return None
    lines: list[str] = []
    token = _lines.set(lines)
    try:
        run()
    finally:
        _lines.reset(token)
    more = [f"and {len(lines) - MOST} more"] if len(lines) > MOST else []
    return "; ".join([*lines[:MOST], *more]) or None


def listen(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """A processor of structlog: changes nothing."""
    lines = _lines.get()
    if lines is not None and event.get("event") in SHOWN:
        lines.append(in_words(event))
        if len(lines) <= MOST:
            _show(str(event["event"]), lines[-1])
    return event


def in_words(event: EventDict) -> str:
    facts = {name: value for name, value in event.items() if name not in UNSAID and value not in ("", None)}
    return " ".join([str(event["event"]), *(f"{name}={_written(value)}" for name, value in facts.items())])


def _written(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _show(state: str, words: str) -> None:
    """A state of the task until its next. Who looks on is no reason for a run to fail."""
    try:
        current_task.send_event(f"task-{state}", retry=False, result=words)
    except UNSENT:
        return
