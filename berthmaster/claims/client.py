"""Claims for Python services: ask for one by a task, wait for the answer, and give it back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self
from uuid import uuid4

from berthmaster import routing
from berthmaster.redis.identity import NO_FLEET
from berthmaster.redis.outage import OUTAGE
from berthmaster.time_words import in_words

if TYPE_CHECKING:
    from berthmaster.broker.sending import Sender
    from berthmaster.claims.answer import ClaimAnswer, ClaimEndpoint
    from berthmaster.claims.answers import ClaimAnswers
    from berthmaster.claims.request import NewClaim

AGAIN: Final = timedelta(seconds=10)
"""Between two requests for one claim: a message or an answer can be lost."""
SLICE: Final = timedelta(seconds=1)
PAUSE: Final = 0.2
RELEASES: Final = 3
"""Tries to send a release, of some seconds each. The claim's ttl ends a claim whose release was never sent."""


class ClaimRefused(ValueError):  # noqa: N818 - the word of the protocol: an answer, not a fault of the program
    """There is no such claim and will be none. The message says why."""


@dataclass
class ClaimProgress:
    """What one call has come to so far.

    Attributes:
        asked: a request was sent, or may have been.
        unsent: the broker has not taken the last one.
        outage: why Redis has not answered last, None if it has.
        message: what the claim waits for, as workers have answered last.

    """

    asked: bool = False
    unsent: bool = False
    outage: Exception | None = None
    message: str = ""


@dataclass(frozen=True)
class ClaimedPod:
    """A pod that this service has until it releases the claim, or until the claim's ttl has passed without a renewal.

    Attributes:
        claim: `NAMESPACE/NAME` of the claim.
        pod: the pod's name.
        node: the pod's node.
        ips: the pod's addresses.
        endpoints: its public endpoints, none for a pod that asks for no ports.

    """

    claim: str
    pod: str
    node: str
    ips: tuple[str, ...]
    endpoints: tuple[ClaimEndpoint, ...]
    _client: ClaimClient = field(repr=False, compare=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()

    def renew(self) -> bool:
        """Ask that the claim lives for its ttl from now on. False: the broker is away, so try again."""
        return self._client.renew(self.claim)

    def release(self) -> bool:
        """Ask that the pod is given back. Idempotent. False: the broker is away; the claim's ttl will end it."""
        return self._client.release(self.claim)


class ClaimClient:
    """Asks for claims, `again` after each time without an answer. Threads may share it."""

    def __init__(self, sender: Sender, answers: ClaimAnswers, again: timedelta = AGAIN) -> None:
        self._sender, self._answers, self._again = sender, answers, again

    def claim(self, asked: NewClaim, timeout: timedelta) -> ClaimedPod:
        """Return the pod of a new claim once it may be used.

        Raises ClaimRefused and TimeoutError. On these and any other error the claim is given back, unless another call
        has asked for it too.
        """
        call, progress = uuid4().hex, ClaimProgress()
        try:
            return self._wait(asked.model_copy(update={"call": call}), timeout, progress)
        except BaseException:
            if progress.asked:
                self._sender.send(routing.CLAIMS_RELEASE, f"{asked.namespace}/{asked.name}", call)
            raise

    def renew(self, claim: str) -> bool:
        """Renew a claim. False: the broker did not take the message."""
        return self._sender.send(routing.CLAIMS_RENEW, claim, uuid4().hex)

    def release(self, claim: str) -> bool:
        """Release a claim. False: the broker did not take the message."""
        return any(self._sender.send(routing.CLAIMS_RELEASE, claim) for _ in range(RELEASES))

    def _wait(self, asked: NewClaim, timeout: timedelta, progress: ClaimProgress) -> ClaimedPod:
        for answer in self._answers_to(asked, timeout, progress):
            if answer.problem is not None:
                raise ClaimRefused(answer.problem)
            if answer.bound:
                pod = self._pod_of(asked, answer)
                if asked.ttl is not None:
                    pod.renew()  # its time has run since it was asked for
                return pod
            progress.message = answer.message or progress.message
        late = f"claim {asked.namespace}/{asked.name} has no pod within {in_words(timeout)}"
        why = self._why_not(progress)
        raise TimeoutError(f"{late}: {why}") from progress.outage

    def _why_not(self, progress: ClaimProgress) -> str:
        """Say why there is no pod, as far as this client can tell."""
        from berthmaster.broker.address import in_brief  # here: kombu takes long to load

        try:
            has_fleet = progress.outage is not None or self._answers.has_fleet()
        except OUTAGE as error:
            progress.outage = error
        if progress.outage is not None:
            return f"Redis is away: {in_brief(progress.outage)}"
        if progress.message:
            return progress.message
        if progress.unsent:
            return "the broker does not take the request"
        return "no worker has answered" if has_fleet else NO_FLEET

    def _answers_to(self, asked: NewClaim, timeout: timedelta, progress: ClaimProgress) -> Iterator[ClaimAnswer]:
        """Ask until the time is up, and yield the latest answer of what there is. An outage of Redis is waited for."""
        until, next_time, place = time.monotonic() + timeout.total_seconds(), 0.0, (asked.namespace, asked.name)
        position: str | None = None
        latest: ClaimAnswer | None = None
        while (now := time.monotonic()) < until:
            before = latest
            answers: list[ClaimAnswer] = []
            try:
                if position is None:
                    position, clock = self._answers.begin(*place)
                    asked = asked.model_copy(update={"until": clock + until - now})
                if now >= next_time:
                    progress.asked = True
                    progress.unsent = not self._sender.send(routing.CLAIMS_CREATE, asked.model_dump())
                    next_time = now + (SLICE if progress.unsent else self._again).total_seconds()
                position, answers = self._answers.after(*place, position, min(SLICE, timedelta(seconds=until - now)))
                progress.outage = None
            except OUTAGE as error:
                progress.outage = error
                time.sleep(PAUSE)
            for answer in answers:
                if answer.concerns(asked.call) and answer.follows(latest):
                    latest = answer
            if latest is not None and latest is not before:
                yield latest

    def _pod_of(self, asked: NewClaim, answer: ClaimAnswer) -> ClaimedPod:
        return ClaimedPod(
            claim=f"{asked.namespace}/{asked.name}",
            pod=answer.pod_name or "",
            node=answer.node_name or "",
            ips=answer.pod_ips or (),
            endpoints=answer.endpoints or (),
            _client=self,
        )
