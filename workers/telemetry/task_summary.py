"""What a task did, for who looks at it in Flower: lines of the log that tell of a transition become its states, and its
result.

So there is one place that tells, the log, and nothing of this where task events are off.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Final

from celery import current_task
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


class Story:
    """Of one task. Its threads tell of it as well, and there Celery knows of no task."""

    def __init__(self, task: Any) -> None:
        self.app, self.hostname, self.id = task.app, task.request.hostname, task.request.id
        self.lines: list[str] = []

    def add(self, state: str, words: str) -> None:
        self.lines.append(words)
        if len(self.lines) <= MOST:
            self.show(state, words)

    def show(self, state: str, words: str) -> None:
        """A state of the task until its next."""
        events = self.app.events  # who looks on is no reason for a run to fail
        with suppress(Exception), events.default_dispatcher(hostname=self.hostname) as dispatcher:
            dispatcher.send(f"task-{state}", uuid=self.id, retry=False, result=words)

    def __str__(self) -> str:
        more = [f"and {len(self.lines) - MOST} more"] if len(self.lines) > MOST else []
        return "; ".join([*self.lines[:MOST], *more])


_story: ContextVar[Story | None] = ContextVar("story", default=None)


def told(run: Callable[[], None]) -> str | None:
    """Runs a task; what it did, in a line. None: nothing, or nobody asks."""
    if not current_task or not current_task.app.conf.worker_send_task_events:
        run()
        return None
    story = Story(current_task)
    token = _story.set(story)
    try:
        run()
    finally:
        _story.reset(token)
    return str(story) or None


def listen(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """A processor of structlog: changes nothing."""
    story = _story.get()
    if story is not None and event.get("event") in SHOWN:
        story.add(str(event["event"]), in_words(event))
    return event


def in_words(event: EventDict) -> str:
    facts = {name: value for name, value in event.items() if name not in UNSAID and value not in ("", None)}
    return " ".join([str(event["event"]), *(f"{name}={_written(value)}" for name, value in facts.items())])


def _written(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
