"""Fleet: submits jobs to pod pools, and claims pods, from Python services. A plain `send_task` of the same tasks works
without it.

A message can be lost, and so can the data of a Redis. So `run` submits a job again and again until the job ends. The id
makes repeated submissions the same job.

This module loads redis-py and little else, because a process that imports it may never make a Fleet. Whatever needs
pydantic, kombu, structlog or prometheus-client is imported where it is used, and most of it when a Fleet is made:
loading these takes longer than loading redis-py.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self
from uuid import uuid4

from berthmaster import routing
from berthmaster.claims.client import ClaimClient, ClaimedPod, ClaimRefused
from berthmaster.jobs.decisions import Decisions, JobDecision
from berthmaster.jobs.job import JobRecord, JobState, Limit
from berthmaster.jobs.logs import JobLogs, LogLine, NoSuchLog
from berthmaster.jobs.request import Request, check
from berthmaster.jobs.results import Result, Results
from berthmaster.jobs.unreadable import UnreadableLedger
from berthmaster.redis.identity import AnotherFleet, Identity
from berthmaster.redis.outage import OUTAGE
from berthmaster.time_words import in_words, seconds

if TYPE_CHECKING:
    from berthmaster.claims.answer import ClaimEndpoint
    from berthmaster.jobs.slot_ledger import SlotLedger

__all__ = [
    "AnotherFleet",
    "ClaimEndpoint",
    "ClaimRefused",
    "ClaimedPod",
    "Fleet",
    "JobRecord",
    "JobState",
    "Limit",
    "LogLine",
    "NoSuchLog",
    "Request",
    "Result",
    "UnreadableLedger",
]
AGAIN: Final = timedelta(seconds=30)
PAUSE: Final = timedelta(seconds=1)
MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)

if not TYPE_CHECKING:  # a type checker would take any name for one of this module

    def __getattr__(name: str) -> Any:
        """Load ClaimEndpoint for who asks for it: the one public name that is a model of pydantic."""
        if name != "ClaimEndpoint":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from berthmaster.claims.answer import ClaimEndpoint

        return ClaimEndpoint


class Fleet:
    """A client of one fleet.

    `broker_url` is where workers take tasks from. `redis_url` is where their state is, by default the same; with
    RabbitMQ as the broker it must be given. `cluster` is the fleet's name; a Redis of another fleet raises
    AnotherFleet.
    """

    def __init__(self, broker_url: str, redis_url: str = "", cluster: str = "") -> None:
        from berthmaster.broker.address import is_amqp
        from berthmaster.broker.sending import Sender
        from berthmaster.claims.answers import ClaimAnswers
        from berthmaster.jobs.direct import DirectSubmitter
        from berthmaster.jobs.scripts import load_scripts
        from berthmaster.redis.incarnation import connect

        if not redis_url and is_amqp(broker_url):
            raise ValueError("redis_url is missing: RabbitMQ has messages only, and the state of the fleet is in Redis")
        self._sender, state = Sender(broker_url), redis_url or broker_url
        self._redis = connect(state, Identity(cluster) if cluster else None)
        self._named = bool(cluster)
        self._scripts = load_scripts(self._redis)
        self._direct = DirectSubmitter(self._redis, self._scripts, state)
        self._claims = ClaimClient(self._sender, ClaimAnswers(self._redis))
        self._decided = Decisions()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to the Redis of the state."""
        self._redis.close()

    def submit(self, request: Request) -> None:
        """Submit a job. Idempotent by id. A job with a free slot goes to its runner; workers take in all others."""
        self._refuse_another_fleet()
        self._submit(request)

    def confirm(self, pool: str, job: str, plan: str, *, by: str | None = None) -> None:
        """Let the next phase run. `plan` is the attempt that was reviewed (Result.attempt).

        `by`: the name of who has decided; the job, the log and the event of the decision keep it. Raises ValueError for
        a job that this Fleet has cancelled.
        """
        from berthmaster.jobs.payloads import ConfirmJob

        check(ConfirmJob, {"pool": pool, "id": job, "plan": plan, "by": by})
        if self._decided.cancelled(pool, job):
            raise ValueError(f"job {job} of {pool} was cancelled by this Fleet: it cannot be confirmed any more")
        self._decide(pool, job, JobDecision(plan, by))

    def cancel(self, pool: str, job: str, *, by: str | None = None) -> None:
        """Cancel a job. `run` of this Fleet never submits the job again. `by`: as for `confirm`."""
        from berthmaster.jobs.payloads import CancelJob

        check(CancelJob, {"pool": pool, "id": job, "by": by})
        self._decide(pool, job, JobDecision(None, by))

    def job(self, pool: str, job: str) -> JobRecord | None:
        """Return the job's record, None for an unknown job."""
        return self._ledger(pool).record(job)

    def results(self, pool: str, at: str = "$", wait: timedelta = PAUSE) -> Iterator[Result]:
        """Yield the results after `at`. Ends when no result comes within `wait`."""
        return Results(self._redis, pool).since(at, wait)

    def logs(self, pool: str, job: str, attempt: str | None = None, *, follow: bool = False) -> Iterator[LogLine]:
        """Yield the lines that the task of a job has printed and logged; see LogLine.

        Args:
            pool: the pod pool, as NAMESPACE/NAME.
            job: the id of the job.
            attempt: the attempt to read; None for the latest one that has printed something.
            follow: also yield the lines that come, until the attempt has ended. Without `attempt`, a job that has not
                started yet is waited for.

        Raises NoSuchLog, a LookupError, for a job or attempt that is not known, and a ConnectionError or TimeoutError
        of redis-py when Redis is away; `follow` bears a minute of that.

        """
        return JobLogs(self._ledger(pool)).lines(job, attempt, follow=follow)

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
        late = f"job {request.id} of {request.pool} did not end within {in_words(timeout)}"
        raise TimeoutError(f"{late}: {self._state(request)}")

    def claim(
        self,
        pool: str,
        labels: Mapping[str, str] | None = None,
        timeout: timedelta = MINUTE,
        ttl: timedelta | None = HOUR,
        **others: Any,
    ) -> ClaimedPod:
        """Claim a pod of a pool, and return it once it is Bound: with its endpoints, if it asks for ports.

        In a pool with slots the pod takes no jobs until it is given back.

        As a context manager the pod is given back at the end. A claim with a ttl is also given back when nobody renews
        it for so long: call `renew` of what you got in time.

        Args:
            pool: the pod pool, as NAMESPACE/NAME.
            labels: labels that the pod must have.
            timeout: how long to wait for the pod. Afterwards the claim is given back, unless another call of the same
                name has asked for it too.
            ttl: how long the claim lives without a renewal, in whole seconds from 10 s; None for ever.
            others: any other field of NewClaim, such as `name`, `owner`, `pod_labels`, `pod_annotations` and
                `wait_for_ports`.

        Raises ClaimRefused, a ValueError, if Kubernetes or a worker refuses the claim: a wrong label or ttl too.
        Raises ValueError or TypeError for a field that is wrong by its form, TimeoutError, and AnotherFleet.

        """
        from berthmaster.claims.request import NewClaim

        seconds("timeout", timeout)
        lives = None if ttl is None else f"{int(seconds('ttl', ttl))}s"
        fields = {"name": f"claim-{uuid4().hex[:20]}", "pool": pool, "labels": dict(labels or {}), "ttl": lives}
        asked = check(NewClaim, fields | others)
        self._refuse_another_fleet()
        return self._claims.claim(asked, timeout)

    def renew(self, claim: str) -> bool:
        """Ask that a claim lives for its ttl from now on, by its `NAMESPACE/NAME`, in any process.

        Claims that no task has created stay as they are. True: the broker has the message, whether there is such a
        claim or not. False: the broker did not take it.
        """
        from berthmaster.claims.request import OfClaim

        check(OfClaim, {"claim": claim})
        self._refuse_another_fleet()
        return self._claims.renew(claim)

    def release(self, claim: str) -> bool:
        """Ask that a claimed pod is given back, by the `NAMESPACE/NAME` of its claim, in any process. Idempotent.

        Claims that no task has created stay. The name is refused for an hour. True: the broker has the message, whether
        there is such a claim or not. False: the broker did not take it.
        """
        from berthmaster.claims.request import OfClaim

        check(OfClaim, {"claim": claim})
        self._refuse_another_fleet()
        return self._claims.release(claim)

    def _ledger(self, pool: str) -> SlotLedger:
        from berthmaster.jobs.slot_ledger import SlotLedger

        return SlotLedger(self._redis, self._scripts, pool)

    def _decide(self, pool: str, job: str, decision: JobDecision) -> None:
        self._decided.keep(pool, job, decision)
        self._say_decided(pool, job, decision)

    def _refuse_another_fleet(self) -> None:
        from berthmaster.redis.client import unusable

        if self._named and (refusal := unusable(self._redis)):
            raise refusal

    def _say_decided(self, pool: str, job: str, decision: JobDecision) -> bool:
        self._refuse_another_fleet()
        task = routing.SLOTS_CANCEL if decision.cancels else routing.SLOTS_CONFIRM
        return self._sender.send(task, pool, job, *decision.arguments)

    def _say(self, request: Request) -> bool:
        """Submit once, and repeat the decision about the job. False: the broker did not take a message."""
        self._refuse_another_fleet()
        decision = self._decided.of(request.pool, request.id)
        sent = bool(decision and decision.cancels) or self._submit(request)
        return sent and (decision is None or self._say_decided(request.pool, request.id, decision))

    def _submit(self, request: Request) -> bool:
        """Submit once. False: neither Redis nor the broker took the job."""
        return self._direct.submit(request.submission()) or self._sender.send(routing.SLOTS_SUBMIT, request.encoded())

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
            from berthmaster.broker.address import in_brief

            return f"Redis is away: {in_brief(error)}"
        if record:
            return f"it is {record.state}"
        if self._decided.cancelled(request.pool, request.id):
            return "it was cancelled, and nobody knows it: it was never taken in, or ended long ago"
        return "no worker has taken it in: is there such a PodPool?"

    def _over(self, request: Request, record: JobRecord) -> bool:
        if record.state is JobState.DONE:
            self._decided.ended(request.pool, request.id)
            return True
        decision = self._decided.of(request.pool, request.id)
        return record.state is JobState.RESERVED and (decision is None or decision.plan not in (record.plan, None))
