"""Fleet: jobs for pod pools, for Python services. Plain `send_task` of the same tasks works without it.

A message may be lost, and a Redis too: so a job is submitted again by its id until its end was seen, which is the same
job however often it is said.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from types import TracebackType
from typing import Any, Final, Self

from pydantic import ValidationError

from domain.slots.job import JobRecord, JobState
from events import routing
from events.incarnation import connect
from workers.jobs.submission import Submission, faults
from workers.sending import Sender
from workers.stores.slots.ledger import SlotLedger, load_scripts
from workers.stores.slots.results import Result, Results

AGAIN: Final = timedelta(seconds=30)
PAUSE: Final = timedelta(seconds=1)
MOST_CONFIRMED: Final = 10_000


@dataclass(frozen=True)
class Request:
    """A job: `phases` of a Celery task of the runners, on one slot of pod pool `pool` (namespace/name)."""

    id: str
    pool: str
    task: str
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    phases: Sequence[str] = ("plan",)
    serial_key: str = ""
    priority: int = 5
    when_lost: str = "requeue"

    def __post_init__(self) -> None:
        """What a worker would refuse is refused here: its refusal could only be read in a log."""
        try:
            Submission.model_validate(self.encoded())
        except ValidationError as error:
            told = [f"{field}: {problem}" for field, problem in faults(error).items()]
            raise ValueError("; ".join(told)) from None

    def encoded(self) -> dict[str, Any]:
        kwargs = dict(self.kwargs) if isinstance(self.kwargs, Mapping) else self.kwargs
        return {**self.__dict__, "args": listed(self.args), "kwargs": kwargs, "phases": listed(self.phases)}


def listed(value: Any) -> Any:
    """A text is a sequence too, and never meant as one."""
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str | bytes) else value


class Fleet:
    """`broker_url` is where workers take tasks from; `redis_url` where their state is, the same if left out."""

    def __init__(self, broker_url: str, redis_url: str = "") -> None:
        self._sender = Sender(broker_url)
        self._redis = connect(redis_url or broker_url)
        self._scripts = load_scripts(self._redis)
        self._confirmed: dict[tuple[str, str], str] = {}  # plan by pool and job, for `run`; the oldest go first

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._redis.close()

    def submit(self, request: Request) -> None:
        """Idempotent by id."""
        self._sender.send(routing.SLOTS_SUBMIT, request.encoded())

    def confirm(self, pool: str, job: str, plan: str) -> None:
        """`plan`: the attempt whose result was seen (Result.attempt)."""
        self._confirmed.pop((pool, job), None)
        self._confirmed[pool, job] = plan
        for old in list(self._confirmed)[:-MOST_CONFIRMED]:
            self._confirmed.pop(old, None)
        self._sender.send(routing.SLOTS_CONFIRM, pool, job, plan)

    def cancel(self, pool: str, job: str) -> None:
        self._confirmed.pop((pool, job), None)
        self._sender.send(routing.SLOTS_CANCEL, pool, job)

    def job(self, pool: str, job: str) -> JobRecord | None:
        """What is known of it now."""
        return SlotLedger(self._redis, self._scripts, pool).record(job)

    def results(self, pool: str, at: str = "$", wait: timedelta = PAUSE) -> Iterator[Result]:
        """Those since `at`; ends when none comes within `wait`."""
        return Results(self._redis, pool).since(at, wait)

    def run(self, request: Request, timeout: timedelta, again: timedelta = AGAIN) -> JobRecord:
        """Submits, and again, until the job ends or waits for a person. Raises TimeoutError.

        A plan that this Fleet has confirmed waits for nobody, and is confirmed again with each submission.
        """
        until, next_time = time.monotonic() + timeout.total_seconds(), 0.0
        while time.monotonic() < until:
            if time.monotonic() >= next_time:
                self._say(request)
                next_time = time.monotonic() + again.total_seconds()
            record = self.job(request.pool, request.id)
            if record and self._over(request, record):
                return record
            time.sleep(min(0.2, again.total_seconds()))
        known = self.job(request.pool, request.id)
        what = f"it is {known.state}" if known else "no worker has taken it in: is there such a PodPool?"
        raise TimeoutError(f"job {request.id} of {request.pool} did not end within {timeout}: {what}")

    def _say(self, request: Request) -> None:
        self.submit(request)
        if plan := self._confirmed.get((request.pool, request.id)):
            self._sender.send(routing.SLOTS_CONFIRM, request.pool, request.id, plan)

    def _over(self, request: Request, record: JobRecord) -> bool:
        if record.state is JobState.DONE:
            self._confirmed.pop((request.pool, request.id), None)
            return True
        return record.state is JobState.RESERVED and record.plan != self._confirmed.get((request.pool, request.id))
