"""Summarises in Flower what a task did: log lines of a transition become states of the task, and its result.

The log is the only source. Where task events are off, nothing is summarised.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Final

from celery import current_task
from structlog.typing import EventDict

SHOWN: Final = frozenset(
    {
        *("port_allocated", "allocation_failed", "port_inherited", "port_released", "pod_state_changed"),
        *("scale_up_requested", "load_balancers_added", "scale_up_failed", "load_balancer_removed"),
        *("pool_resized", "pod_created", "pod_deleted", "pod_removed"),
        *("job_submitted", "job_placed", "job_confirmed", "job_cancelled", "reservation_expired", "job_over_time"),
        *("pod_taken", "pod_given_back", "claim_changed", "claim_set_step"),
    }
)
UNSAID: Final = frozenset({"event", "level", "logger", "timestamp", "key", "token", "tries"})
MOST: Final = 20
"""Lines of a result at most; a task that does more says how many."""


class TaskSummary:
    """Collects the lines of one task. Threads of the task add lines too, and there Celery has no current task."""

    def __init__(self, task: Any, identity: str) -> None:
        self.app, self.hostname, self.id = task.app, task.request.hostname, identity
        self.lines: list[str] = []

    def add(self, state: str, words: str) -> None:
        """Add a line. The first MOST lines also become states of the task."""
        self.lines.append(words)
        if len(self.lines) <= MOST:
            self.show(state, words)

    def show(self, state: str, words: str) -> None:
        """Send a state of the task, which lasts until its next one."""
        self.send({state: {"result": words}})

    def send(self, states: dict[str, dict[str, Any]]) -> None:
        """Send an event for each state, with these fields. A failure to send does not fail the run."""
        events = self.app.events
        with suppress(Exception), events.default_dispatcher(hostname=self.hostname) as dispatcher:
            for state, facts in states.items():
                dispatcher.send(f"task-{state}", uuid=self.id, retry=False, **facts)

    def __str__(self) -> str:
        more = [f"and {len(self.lines) - MOST} more"] if len(self.lines) > MOST else []
        return "; ".join([*self.lines[:MOST], *more])


_summary: ContextVar[TaskSummary | None] = ContextVar("summary", default=None)


class KeySummary:
    """How the run of a key ended: its outcome in a word, and the error of one that failed."""

    outcome = ""
    error: BaseException | None = None


def summarise(run: Callable[[], None]) -> str | None:
    """Run a task and return a summary in one line. None: it did nothing, or task events are off."""
    if not events_are_sent():
        run()
        return None
    summary = TaskSummary(current_task, str(current_task.request.id))
    token = _summary.set(summary)
    try:
        run()
    finally:
        _summary.reset(token)
    return str(summary) or None


def events_are_sent() -> bool:
    """Tell whether this is a task that sends events, of a worker that does."""
    return bool(current_task and current_task.app.conf.worker_send_task_events and current_task.send_events)


@contextmanager
def summarise_key(task: str, key: str, token: str) -> Iterator[KeySummary]:
    """Show the run of a key as a task of its own, below the present one, with the run's token as its id."""
    ended = KeySummary()
    if not events_are_sent():
        yield ended
        return
    summary, began, parent = TaskSummary(current_task, token), time.monotonic(), current_task.request.id
    about = {"name": task, "args": repr((key,)), "kwargs": "{}", "retries": 0, "eta": None, "expires": None}
    summary.send({"received": {**about, "root_id": parent, "parent_id": parent}, "started": {}})
    reset = _summary.set(summary)
    try:
        yield ended
    except Exception as error:
        ended.error = error
        raise
    finally:
        _summary.reset(reset)
        if ended.error:
            summary.send({"failed": {"exception": repr(ended.error), "traceback": ""}})
        else:
            seconds = time.monotonic() - began
            summary.send({"succeeded": {"result": str(summary) or ended.outcome, "runtime": seconds}})


def listen(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Add the line to the summary of its task, as a processor of structlog. The line does not change."""
    summary = _summary.get()
    if summary is not None and event.get("event") in SHOWN:
        summary.add(str(event["event"]), in_words(event))
    return event


def in_words(event: EventDict) -> str:
    """Return the event and its facts as one line, without empty facts."""
    facts = {name: value for name, value in event.items() if name not in UNSAID and value not in ("", None)}
    return " ".join([str(event["event"]), *(f"{name}={_written(value)}" for name, value in facts.items())])


def _written(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
