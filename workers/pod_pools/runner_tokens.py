"""The Redis user of a pool's runners, and the token that its new pods get.

The tokens that Redis accepts come from two durable places: the Secret, and the annotations of pods. A new token is
written to the Secret, then accepted by Redis, and only then given to a pod. An old one stays in both until no pod has
it. So nobody is locked out wherever a run is killed: the next run makes the user from the same two places. The Secret's
version and a fence in Redis refuse an older run that wakes up (see RunnerUser).

Rotation waits until nothing runs in the pool and nothing is reserved. A job that comes at that moment is safe: its pod
keeps a token that Redis accepts.

A pod never gets a credential of the workers. No pod is created where no token can be issued: the workers may not change
users or write the Secret, or the address needs a secret of the workers. A condition says why.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

import structlog

from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.spec import length
from domain.kubernetes.names import RUNNER_TOKEN
from domain.kubernetes.objects import Pod
from domain.pod_pools.pod_pool import PodPoolSpec
from domain.pod_pools.runner_token import (
    PodToken,
    digest,
    issue_date,
    new_token_name,
    newest,
    overdue,
    parse_token,
    tokens_to_keep,
)
from events.kube.api import Denied, Invalid, shown
from events.workqueue import Snapshot
from workers.kube.pod_pools import owner_reference
from workers.kube.pool_pods import PoolPods
from workers.kube.token_secret import Stored, TokenSecret
from workers.pod_pools.services import PodPoolServices
from workers.run import Run
from workers.stores.slots.preload import preload
from workers.stores.slots.user import RunnerUser

log = structlog.get_logger()
Json = dict[str, Any]
Problem = tuple[str, str]
"""A reason, as conditions have it, and words with the way out."""
Keep = Callable[[], None]
"""Makes sure that the lease of the run outlasts the next call."""
REDIS: Final = "BERTHMASTER_RUNNER__REDIS__"
BIND: Final = "bind the role berthmaster-pod-pools to the workers in this namespace"
ALLOW: Final = (
    "allow the workers' user ACL SETUSER, ACL DELUSER and SCRIPT, or let the template name a user of its own in "
    f"{REDIS}USERNAME and {REDIS}PASSWORD"
)
OPEN: Final = "It confines nobody: Redis lets everybody in as its default user, without a password; set requirepass"


@dataclass(frozen=True)
class TokenGrant:
    """The token that new pods get, None for none. `problem`: why it is not the one that the spec asks for.

    `caution`: why the token confines nobody, '' when it does.
    """

    secret: str = ""
    user: str = ""
    token: PodToken | None = None
    problem: Problem | None = None
    caution: str = ""

    @property
    def name(self) -> str:
        """The name of the token, '' for none."""
        return self.token.name if self.token else ""

    @property
    def withheld(self) -> str:
        """Why no pod may be created, '' when pods may be."""
        return self.problem[1] if self.problem and not self.token else ""

    @property
    def annotations(self) -> dict[str, str]:
        """What says on a new pod which token it has."""
        return {RUNNER_TOKEN: self.token.text} if self.token else {}

    def environment(self, own: list[Json]) -> list[Json]:
        """Add the pool's user to a runner's `own` variables."""
        if not self.token:
            return own
        password = {"secretKeyRef": {"name": self.secret, "key": self.token.name}}
        user = {"name": f"{REDIS}USERNAME", "value": self.user}
        return [*own, user, {"name": f"{REDIS}PASSWORD", "valueFrom": password}]


class NoTokens:
    """Stands for RunnerTokens in a pool without slots, or with a Redis user of its own.

    Pods may still have a token from before.
    """

    def __init__(self, user: RunnerUser, run: str) -> None:
        self._user, self._run = user, run

    def verify(self, pods: Iterable[Pod]) -> TokenGrant:
        """Keep the user while a pod has a token, then remove it."""
        if carried := tokens_on_pods(pods):
            self._user.ensure(self._run, digests(carried))
        else:
            self._user.remove(self._run)
        return TokenGrant()

    def rotate(self, grant: TokenGrant, pods: Iterable[Pod], now: datetime, idle: Callable[[], bool]) -> TokenGrant:
        """Nothing to rotate."""
        del pods, now, idle
        return grant

    def preview(self, now: datetime, idle: bool) -> tuple[str | None, str]:
        """The token that pods have now, and what becomes of it."""
        del now, idle
        return "", "none is needed: the pool has no slots, or its template names a user"


class RunnerTokens:
    """The tokens of one pool in one run. `barrier`: why runners could do nothing with a token, None when they can."""

    def __init__(
        self, user: RunnerUser, run: str, secret: TokenSecret, after: timedelta, keep: Keep, barrier: Problem | None
    ) -> None:
        self._user, self._run, self._secret, self._after, self._keep = user, run, secret, after, keep
        self._stored, self._barrier = Stored(), barrier

    def verify(self, pods: Iterable[Pod]) -> TokenGrant:
        """Restore the user, which Redis may have lost, and say what new pods get."""
        carried = tokens_on_pods(pods)
        if self._barrier:
            return self._without_secret(carried, *self._barrier)
        self._keep()
        try:
            self._stored = self._secret.read()
        except Denied as error:
            return self._without_secret(carried, "SecretRefused", f"{error}: {BIND}")
        if self._stored.strange:
            return self._without_secret(carried, "SecretOfAnother", self._of_another())
        return self._ensure_user(carried)

    def rotate(self, grant: TokenGrant, pods: Iterable[Pod], now: datetime, idle: Callable[[], bool]) -> TokenGrant:
        """Replace a token that is too old, and forget tokens that no pod has. `grant` is what `verify` returned.

        The first token waits for nothing.
        """
        if grant.problem:
            return grant
        carried = tokens_on_pods(pods)
        tokens = self._with_new_token(now, idle) or {
            name: self._stored.tokens[name]
            for name in tokens_to_keep(self._stored.tokens, {token.name for token in carried})
        }
        if tokens == self._stored.tokens:
            return grant
        self._keep()
        try:
            self._secret.write(self._stored, tokens)
        except (Denied, Invalid) as error:
            shown(error)
            return _write_refusal(grant, str(error))
        self._stored = Stored(tokens)
        return self._ensure_user(carried)

    def preview(self, now: datetime, idle: bool) -> tuple[str | None, str]:
        """The token that pods have now, and what a run would do with it; without any effect.

        '': there is none. None: it cannot be cached.
        """
        if self._barrier:
            return None, self._barrier[1]
        stored = self._secret.read()
        name = newest(stored.tokens)
        if stored.strange:
            return None, self._of_another()
        if not name:
            return "", "the first is made"
        if not overdue(stored.tokens, self._after, now):
            return name, f"stays: it was made {issue_date(name)}, and is replaced after {self._after}"
        return name, "is replaced" if idle else "stays: it is too old, and slots are in use"

    def _with_new_token(self, now: datetime, idle: Callable[[], bool]) -> dict[str, str] | None:
        """All tokens and a new one; None if it is not time. Old ones stay: a newer run may give one to a pod now."""
        stored = self._stored.tokens
        if newest(stored) and not (overdue(stored, self._after, now) and idle()):
            return None
        name = new_token_name(stored, now, secrets.token_hex(4))
        log.info("token_rotated", pool=self._user.pool, token=name)
        return {**stored, name: secrets.token_urlsafe(32)}

    def _of_another(self) -> str:
        return f"Secret {self._secret.name} is not of this pool: name another one in runnerToken.secretName"

    def _without_secret(self, carried: Collection[PodToken], reason: str, message: str) -> TokenGrant:
        """Keep the tokens that pods have good in Redis, and grant none to new pods."""
        if carried:
            self._keep()
            self._user.ensure(self._run, digests(carried))
        return _refusal(reason, message)

    def _ensure_user(self, carried: Collection[PodToken]) -> TokenGrant:
        tokens = {name: digest(password) for name, password in self._stored.tokens.items()}
        self._keep()
        if refusal := self._user.ensure(self._run, {*tokens.values(), *digests(carried)}):
            return _refusal("AclRefused", f"Redis makes no user for the runners: {refusal}: {ALLOW}")
        name = newest(tokens)
        token = PodToken(name, tokens[name]) if name else None
        return TokenGrant(self._secret.name, self._user.name, token, caution=OPEN if self._user.unconfined() else "")


def tokens_of(
    services: PodPoolServices, run: Run | None, ledger: SlotLedger, pool: Snapshot, spec: PodPoolSpec
) -> RunnerTokens | NoTokens:
    """The tokens that the spec asks for. Without a run they can only be read.

    The scripts of the runners are loaded before their user is there.
    """
    refusal = preload(ledger) if run and spec.slots else ""
    user, token_spec, (namespace, name) = RunnerUser(ledger.redis, ledger.pool), spec.token, ledger.pool.split("/")
    token = run.token if run else ""
    if not token_spec:
        return NoTokens(user, token)
    secret = TokenSecret(services.kube, namespace, token_spec.secret_of(name), name, owner_reference(pool))
    keep: Keep = partial(run.keep, services.call_time) if run else (lambda: None)
    return RunnerTokens(user, token, secret, length(token_spec.rotate_after), keep, _barrier(services, refusal))


def _barrier(services: PodPoolServices, refusal: str) -> Problem | None:
    if services.withheld:
        return "AddressWithheld", services.withheld
    return ("ScriptsRefused", f"Redis loads no scripts for the runners: {refusal}: {ALLOW}") if refusal else None


def forget_user(services: PodPoolServices, run: Run, ledger: SlotLedger) -> None:
    """Remove the user of a deleted pool once it has no pods: earlier, its runners would lose their connections.

    Every run of a deleted pool calls this.
    """
    user, (namespace, name) = RunnerUser(ledger.redis, ledger.pool), ledger.pool.split("/")
    if user.exists() and not PoolPods(services.kube, namespace, name, {}).labelled():
        user.remove(run.token)


def tokens_on_pods(pods: Iterable[Pod]) -> frozenset[PodToken]:
    """The tokens of these pods. Two may have one name: a person has changed the password between two pods."""
    tokens = (parse_token(pod.annotations.get(RUNNER_TOKEN)) for pod in pods)
    return frozenset(token for token in tokens if token)


def digests(tokens: Iterable[PodToken]) -> set[str]:
    """The digests by which Redis knows these tokens."""
    return {token.digest for token in tokens}


def _refusal(reason: str, message: str) -> TokenGrant:
    return TokenGrant(problem=(reason, f"{message}. No pod is made without a token of its own"))


def _write_refusal(grant: TokenGrant, message: str) -> TokenGrant:
    """A Secret that cannot be written: new pods get the newest token that it has."""
    if not grant.token:
        return _refusal("SecretRefused", f"{message}: {BIND}")
    return replace(grant, problem=("SecretRefused", f"{message}. New pods get {grant.name}, which is still good"))
