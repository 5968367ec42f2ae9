"""Fleet: submits jobs to pod pools from Python services. A plain `send_task` of the same tasks works without it.

A message can be lost, and so can the data of a Redis. So `run` submits a job again and again until the job ends. The id
makes repeated submissions the same job.
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
from berthmaster.jobs.scripts import load_scripts
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.submission import Submission, faults
from berthmaster.redis.client import other_fleet
from berthmaster.redis.identity import Identity
from berthmaster.redis.incarnation import connect
from berthmaster.redis.outage import OUTAGE

AGAIN: Final = timedelta(seconds=30)
PAUSE: Final = timedelta(seconds=1)
MOST_DECIDED: Final = 10_000
CANCELLED: Final = ""
"""In place of the plan, for a job that was cancelled."""


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
        """Refuse here what a worker would refuse: a worker's refusal appears only in its log."""
        check(Submission, self.encoded())

    def encoded(self) -> dict[str, Any]:
        """Return the job as the payload of the submit task: lists and dicts only."""
        kwargs = dict(self.kwargs) if isinstance(self.kwargs, Mapping) else self.kwargs
        return {**self.__dict__, "args": listed(self.args), "kwargs": kwargs, "phases": listed(self.phases)}


def listed(value: Any) -> Any:
    """Return a sequence as a list. Text is returned unchanged, and so is any other value."""
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str | bytes) else value


def check(model: type[BaseModel], fields: Mapping[str, Any]) -> None:
    """Raise ValueError, which names each wrong field, unless the fields fit the model."""
    try:
        model.model_validate(fields)
    except ValidationError as error:
        raise ValueError("; ".join(f"{field}: {problem}" for field, problem in faults(error).items())) from None


def seconds(name: str, length: Any) -> float:
    """Return the length in seconds. Raises TypeError for anything but a timedelta, ValueError unless it is positive."""
    if not isinstance(length, timedelta):
        raise TypeError(f"{name}: must be a timedelta, such as timedelta(minutes=10), not {length!r}")
    if length <= timedelta(0):
        raise ValueError(f"{name}: must be more than nothing, not {length}")
    return length.total_seconds()


class Fleet:
    """A client of one fleet.

    `broker_url` is where workers take tasks from. `redis_url` is where their state is, by default the same. `cluster`
    is the fleet's name; a Redis of another fleet raises AnotherFleet.
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
        """Close the connections to the Redis of the state."""
        self._redis.close()

    def submit(self, request: Request) -> None:
        """Submit a job. Idempotent by id."""
        self._refuse_another_fleet()
        self._sender.send(routing.SLOTS_SUBMIT, request.encoded())

    def confirm(self, pool: str, job: str, plan: str) -> None:
        """Let the next phase run. `plan` is the attempt that was reviewed (Result.attempt).

        Raises ValueError for a job that this Fleet has cancelled.
        """
        check(ConfirmJob, {"pool": pool, "id": job, "plan": plan})
        if self._decided.get((pool, job)) == CANCELLED:
            raise ValueError(f"job {job} of {pool} was cancelled by this Fleet: it cannot be confirmed any more")
        self._decide(pool, job, plan)

    def cancel(self, pool: str, job: str) -> None:
        """Cancel a job. `run` of this Fleet never submits the job again."""
        check(CancelJob, {"pool": pool, "id": job})
        self._decide(pool, job, CANCELLED)

    def job(self, pool: str, job: str) -> JobRecord | None:
        """Return the job's record, None for an unknown job."""
        return SlotLedger(self._redis, self._scripts, pool).record(job)

    def results(self, pool: str, at: str = "$", wait: timedelta = PAUSE) -> Iterator[Result]:
        """Yield the results after `at`. Ends when no result comes within `wait`."""
        return Results(self._redis, pool).since(at, wait)

    def run(self, request: Request, timeout: timedelta, again: timedelta = AGAIN) -> JobRecord:
        """Submit a job until it ends or waits for a person, also during an outage of Redis. Raises TimeoutError.

        A job that this Fleet has confirmed does not wait: each submission confirms its plan again. A job that this
        Fleet has cancelled is cancelled again and not submitted, because a submission of a forgotten job would start it
        anew.
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
        """Submit once, and repeat the decision about the job. False: the broker did not take a message."""
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
        """Say why the job has not ended, as far as this client can tell."""
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
