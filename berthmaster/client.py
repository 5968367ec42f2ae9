"""Fleet: jobs for pod pools, for Python services. Plain `send_task` of the same tasks works without it.

A message may be lost, and a Redis too: so a job is submitted again by its id until its end was seen, which is the same
job however often it is said.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from types import TracebackType
from typing import Any, Final, Self

from pydantic import BaseModel, ValidationError

from berthmaster import routing
from berthmaster.broker.address import in_brief
from berthmaster.broker.sending import Sender
from berthmaster.jobs.job import JobRecord, JobState
from berthmaster.jobs.payloads import CancelJob, ConfirmJob
from berthmaster.jobs.results import Result, Results
from berthmaster.jobs.slot_ledger import SlotLedger, load_scripts
from berthmaster.jobs.submission import Submission, faults
from berthmaster.redis.client import other_fleet
from berthmaster.redis.identity import Identity
from berthmaster.redis.incarnation import connect
from berthmaster.redis.outage import OUTAGE

AGAIN: Final = timedelta(seconds=30)
PAUSE: Final = timedelta(seconds=1)
MOST_DECIDED: Final = 10_000
CANCELLED: Final = ""
"""Stands where the plan of a confirmed job does."""


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
        check(Submission, self.encoded())

    def encoded(self) -> dict[str, Any]:
        kwargs = dict(self.kwargs) if isinstance(self.kwargs, Mapping) else self.kwargs
        return {**self.__dict__, "args": listed(self.args), "kwargs": kwargs, "phases": listed(self.phases)}


def listed(value: Any) -> Any:
    """A text is a sequence too, and never meant as one."""
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str | bytes) else value


def check(model: type[BaseModel], fields: Mapping[str, Any]) -> None:
    """Raises ValueError, which names each field that is wrong."""
    try:
        model.model_validate(fields)
    except ValidationError as error:
        raise ValueError("; ".join(f"{field}: {problem}" for field, problem in faults(error).items())) from None


def seconds(name: str, length: Any) -> float:
    """Raises TypeError, or ValueError, for what is no length of time."""
    if not isinstance(length, timedelta):
        raise TypeError(f"{name}: must be a timedelta, such as timedelta(minutes=10), not {length!r}")
    if length <= timedelta(0):
        raise ValueError(f"{name}: must be more than nothing, not {length}")
    return length.total_seconds()


class Fleet:
    """`broker_url` is where workers take tasks from; `redis_url` where their state is, the same if left out.
    `cluster`: the fleet's name; whatever is sent to a Redis of another one raises AnotherFleet instead.
    """

    def __init__(self, broker_url: str, redis_url: str = "", cluster: str = "") -> None:
        self._sender = Sender(broker_url)
        self._redis = connect(redis_url or broker_url, Identity(cluster) if cluster else None)
        self._named = bool(cluster)
        self._scripts = load_scripts(self._redis)
        self._decided: dict[tuple[str, str], str] = {}  # plan by pool and job, for `run`; the oldest go first

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._redis.close()

    def submit(self, request: Request) -> None:
        """Idempotent by id."""
        self._refuse_another_fleet()
        self._sender.send(routing.SLOTS_SUBMIT, request.encoded())

    def confirm(self, pool: str, job: str, plan: str) -> None:
        """`plan`: the attempt whose result was seen (Result.attempt). Raises ValueError for a cancelled job."""
        check(ConfirmJob, {"pool": pool, "id": job, "plan": plan})
        if self._decided.get((pool, job)) == CANCELLED:
            raise ValueError(f"job {job} of {pool} was cancelled by this Fleet: it cannot be confirmed any more")
        self._decide(pool, job, plan)

    def cancel(self, pool: str, job: str) -> None:
        check(CancelJob, {"pool": pool, "id": job})
        self._decide(pool, job, CANCELLED)

    def job(self, pool: str, job: str) -> JobRecord | None:
        """What is known of it now."""
        return SlotLedger(self._redis, self._scripts, pool).record(job)

    def results(self, pool: str, at: str = "$", wait: timedelta = PAUSE) -> Iterator[Result]:
        """Those since `at`; ends when none comes within `wait`."""
        return Results(self._redis, pool).since(at, wait)

    def run(self, request: Request, timeout: timedelta, again: timedelta = AGAIN) -> JobRecord:
        """Submits, and again, until the job ends or waits for a person, also while Redis is away. Raises TimeoutError.

        A plan that this Fleet has confirmed waits for nobody, and is confirmed again with each submission. What it has
        cancelled is cancelled again and not submitted, which would start a job anew that nobody knows any more.
        """
        until, next_time = time.monotonic() + seconds("timeout", timeout), 0.0
        pause = min(0.2, seconds("again", again))
        while time.monotonic() < until:
            if time.monotonic() >= next_time:
                sent = self._say(request)
                next_time = time.monotonic() + (again if sent else min(again, PAUSE)).total_seconds()
            if ended := self._ended(request):
                return ended
            time.sleep(pause)
        raise TimeoutError(f"job {request.id} of {request.pool} did not end within {timeout}: {self._state(request)}")

    def _decide(self, pool: str, job: str, plan: str) -> None:
        self._decided.pop((pool, job), None)
        self._decided[pool, job] = plan
        for old in list(self._decided)[:-MOST_DECIDED]:
            self._decided.pop(old, None)
        self._say_decided(pool, job, plan)

    def _refuse_another_fleet(self) -> None:
        if self._named and (refusal := other_fleet(self._redis)):
            raise refusal

    def _say_decided(self, pool: str, job: str, plan: str) -> bool:
        self._refuse_another_fleet()
        if plan == CANCELLED:
            return self._sender.send(routing.SLOTS_CANCEL, pool, job)
        return self._sender.send(routing.SLOTS_CONFIRM, pool, job, plan)

    def _say(self, request: Request) -> bool:
        """False: the broker does not take it."""
        self._refuse_another_fleet()
        plan = self._decided.get((request.pool, request.id))
        sent = plan == CANCELLED or self._sender.send(routing.SLOTS_SUBMIT, request.encoded())
        return sent and (plan is None or self._say_decided(request.pool, request.id, plan))

    def _ended(self, request: Request) -> JobRecord | None:
        with suppress(*OUTAGE):
            record = self.job(request.pool, request.id)
            return record if record and self._over(request, record) else None
        return None

    def _state(self, request: Request) -> str:
        """Why it has not ended, as far as one can see."""
        try:
            record = self.job(request.pool, request.id)
        except OUTAGE as error:
            return f"Redis is away: {in_brief(error)}"
        if record:
            return f"it is {record.state}"
        if self._decided.get((request.pool, request.id)) == CANCELLED:
            return "it was cancelled, and nobody knows it: it was never taken in, or ended long ago"
        return "no worker has taken it in: is there such a PodPool?"

    def _over(self, request: Request, record: JobRecord) -> bool:
        key = (request.pool, request.id)
        if record.state is JobState.DONE:
            if self._decided.get(key):  # a plan; what was cancelled stays so
                self._decided.pop(key, None)
            return True
        return record.state is JobState.RESERVED and self._decided.get(key) not in (record.plan, CANCELLED)
