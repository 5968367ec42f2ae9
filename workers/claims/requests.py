"""Carry out what services ask of claims by tasks. A service reaches only claims that a task has created.

Rule released: a release is recorded before the claim is deleted, and who has created a claim, or found it there, reads
that record afterwards. So no claim stays that was released, also if the release overtakes the request.

Rule callers: a claim has the ids of the calls that asked for it. A call that fails takes its own id away, and deletes
the claim only if no other is left.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final
from uuid import uuid4

import structlog
from pydantic import ValidationError

from berthmaster.claims.answer import ClaimAnswer
from berthmaster.claims.answers import ClaimAnswers
from berthmaster.claims.request import NewClaim
from berthmaster.errors import TransientError
from domain.claims.pod_claim import PodClaimSpec
from domain.kubernetes.names import REQUESTED
from domain.kubernetes.objects import KubeObject
from domain.spec_errors import spec_problem
from events.kube.api import Conflict, Denied, Invalid, KubeError, NotFound
from workers.claims.answer import ANY, answer_of
from workers.kube.pod_claims import PodClaims

log = structlog.get_logger()
TRIES: Final = 5
"""A claim that changes more often within one task is written by a repetition of the task."""
FIXED: Final = ("poolName", "selector", "ownerName")
"""What no claim can change: a request with another value is for another claim."""
MOST: Final = 20
"""Ids of calls that a claim has. A claim that more have asked for goes only by its name."""


class ClaimRequests:
    """Creates, renews and deletes claims. Each method raises TransientError if a repetition may succeed."""

    def __init__(self, claims: PodClaims, answers: ClaimAnswers) -> None:
        self._claims, self._answers = claims, answers

    def create(self, asked: NewClaim) -> None:
        """Create a claim unless it is there, and answer. A new claim is answered by its run."""
        if asked.until is not None and self._answers.now() > asked.until:
            log.info("claim_request_expired", namespace=asked.namespace, claim=asked.name)
            return
        try:
            answer = self._create(asked)
        except ValidationError as error:
            answer = _refusal(asked, spec_problem(error))
        except (Denied, Invalid, NotFound) as error:
            answer = _refusal(asked, f"Kubernetes refuses the claim: {error}")
        except KubeError as error:
            raise TransientError(f"Kubernetes: {error}", error.retry_after) from error
        if answer is not None:
            self._answers.tell(asked.namespace, asked.name, answer)

    def renew(self, namespace: str, name: str, renewal: str) -> None:
        """Renew a claim. One that is gone stays gone."""
        self._change(namespace, name, lambda claim: self._claims.renew(claim, renewal))

    def release(self, namespace: str, name: str, call: str | None = None) -> None:
        """Delete a claim, and let no late request create it. With `call`: only if no other call has asked for it."""
        self._answers.release(namespace, name, call)
        self._undo(namespace, name, call)
        log.info("claim_released", namespace=namespace, claim=name, call=call)

    def _create(self, asked: NewClaim) -> ClaimAnswer | None:
        """Return the answer, None for a new claim. Raises KubeError, and ValidationError for an invalid spec."""
        spec, place = spec_of(asked), (asked.namespace, asked.name)
        created = self._claims.create(*place, {REQUESTED: asked.call or ANY}, spec)
        there = None if created else self._existing(asked, spec)
        if isinstance(there, str):
            return _refusal(asked, there)
        if until := self._answers.released_until(*place):
            self._undo(*place)
            return _refusal(
                asked,
                f"name: claim {asked.namespace}/{asked.name} was released, and no request may create it again until "
                f"{until:%F %T}Z, as it could be one that was sent before the release: give another name, or none",
            )
        if asked.call and self._answers.released_until(*place, asked.call):
            self._undo(*place, asked.call)
            return None
        log.info("claim_requested", namespace=asked.namespace, claim=asked.name, created=created is not None)
        if there and there.deleting:
            return _for_call(asked, message="an earlier claim of this name is being deleted")
        return answer_of(there) if there else None

    def _existing(self, asked: NewClaim, spec: dict[str, Any]) -> KubeObject | str:
        """Return the claim that is there, with the id of this call; or why it is none for it."""
        for _ in range(TRIES):
            claim = self._claims.read(asked.namespace, asked.name)
            if claim is None:
                break
            if REQUESTED not in claim.annotations:
                return f"name: there is another claim {asked.namespace}/{asked.name}"
            if others := [field for field in FIXED if (claim.spec.get(field) or None) != (spec.get(field) or None)]:
                return f"name: there is a claim {asked.namespace}/{asked.name} with another {', '.join(others)}"
            if claim.deleting:
                return claim
            with suppress(Conflict, NotFound):
                return self._with_call(claim, asked.call or ANY)
        raise TransientError(f"PodClaim {asked.namespace}/{asked.name} has just gone, or changes all the time")

    def _with_call(self, claim: KubeObject, call: str) -> KubeObject:
        """Add the call to the claim, and renew a claim with a ttl: somebody waits for it."""
        calls, renewal = _calls(claim), None if claim.spec.get("ttl") is None else uuid4().hex
        mine = call in calls or ANY in calls
        if mine and renewal is None:
            return claim
        if not mine:
            calls = [*calls, call] if len(calls) < MOST else [ANY]
        return self._claims.set_calls(claim, " ".join(calls), renewal)

    def _undo(self, namespace: str, name: str, call: str | None = None) -> None:
        """Delete the claim; with `call` only if no other call has asked for it."""

        def leave(claim: KubeObject) -> None:
            others = [other for other in _calls(claim) if other != call]
            if call is None or not others:
                self._claims.delete(claim)
            elif call in _calls(claim):
                self._claims.set_calls(claim, " ".join(others))

        self._change(namespace, name, leave)

    def _change(self, namespace: str, name: str, write: Callable[[KubeObject], object]) -> None:
        """Write a claim that a task has created, in the version that is read."""
        for _ in range(TRIES):
            try:
                claim = self._claims.read(namespace, name)
                if claim is None or claim.deleting or REQUESTED not in claim.annotations:
                    return
                write(claim)
            except (Conflict, NotFound):
                continue
            except KubeError as error:
                raise TransientError(f"Kubernetes: {error}", error.retry_after) from error
            return
        raise TransientError(f"PodClaim {namespace}/{name} changes all the time")


def _calls(claim: KubeObject) -> list[str]:
    return claim.annotations[REQUESTED].split() or [ANY]


def _refusal(asked: NewClaim, problem: str) -> ClaimAnswer:
    return _for_call(asked, problem=problem)


def _for_call(asked: NewClaim, **fields: Any) -> ClaimAnswer:
    return ClaimAnswer(calls=(asked.call,) if asked.call else None, **fields)


def spec_of(asked: NewClaim) -> dict[str, Any]:
    """Return the spec of the claim. Raises ValidationError, which names each wrong field."""
    spec = PodClaimSpec(
        pool_name=asked.pool.partition("/")[2],
        selector=asked.labels,
        owner_name=asked.owner,
        additional_pod_labels=asked.pod_labels,
        additional_pod_annotations=asked.pod_annotations,
        ttl=asked.ttl,
        wait_for_ports=asked.wait_for_ports,
    )
    return spec.model_dump(by_alias=True, exclude_defaults=True)
