"""The Redis user of a pool's runners, and the token that its new pods get.

What is good in Redis is made from two things that last: the tokens in the Secret, and those that pods say they have.
A new token is in the Secret, then good in Redis, and only then in a pod; an old one stays in both until no pod has it.
So nobody is locked out wherever a run is killed: the next run makes the user from the same two things. An older run
that wakes up is refused by the Secret's version and by Redis (see RunnerUser).

Rotation waits for a pool in which nothing runs and nothing is reserved. A job that comes at that moment is no harm: its
pod keeps a token that is good.

A pod never gets a credential of the workers. Where no token can be issued (no right to change users or to write the
Secret, an address that needs a secret of the workers), no pod of the pool is made; a condition says why.
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
from domain.pod_pools.runner_token import Carried, carried, digest, fresh, kept, newest, overdue, when
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
class Issued:
    """What new pods get; `token` None: nothing. `problem`: a reason and words, if it is not as requested.

    `caution`: why the token confines nobody, '' when it does.
    """

    secret: str = ""
    user: str = ""
    token: Carried | None = None
    problem: Problem | None = None
    caution: str = ""

    @property
    def name(self) -> str:
        return self.token.name if self.token else ""

    @property
    def withheld(self) -> str:
        """Why no pod may be made, '' when pods may be."""
        return self.problem[1] if self.problem and not self.token else ""

    @property
    def annotations(self) -> dict[str, str]:
        return {RUNNER_TOKEN: self.token.text} if self.token else {}

    def environment(self, own: list[Json]) -> list[Json]:
        """`own` with the user of the pool."""
        if not self.token:
            return own
        password = {"secretKeyRef": {"name": self.secret, "key": self.token.name}}
        user = {"name": f"{REDIS}USERNAME", "value": self.user}
        return [*own, user, {"name": f"{REDIS}PASSWORD", "valueFrom": password}]


class NoTokens:
    """Of a pool that needs none: without slots, or with a user of its own. Pods may still have one from before."""

    def __init__(self, user: RunnerUser, run: str) -> None:
        self._user, self._run = user, run

    def verify(self, pods: Iterable[Pod]) -> Issued:
        if there := in_pods(pods):
            self._user.ensure(self._run, digests(there))
        else:
            self._user.remove(self._run)
        return Issued()

    def rotate(self, issued: Issued, pods: Iterable[Pod], now: datetime, idle: Callable[[], bool]) -> Issued:
        del pods, now, idle
        return issued

    def foreseen(self, now: datetime, idle: bool) -> tuple[str | None, str]:
        del now, idle
        return "", "none is needed: the pool has no slots, or its template names a user"


class RunnerTokens:
    """One run's look at the tokens of one pool. `barrier`: a reason and words, if runners could do nothing with one."""

    def __init__(
        self, user: RunnerUser, run: str, secret: TokenSecret, after: timedelta, keep: Keep, barrier: Problem | None
    ) -> None:
        self._user, self._run, self._secret, self._after, self._keep = user, run, secret, after, keep
        self._stored, self._barrier = Stored(), barrier

    def verify(self, pods: Iterable[Pod]) -> Issued:
        """Makes the user as it must be: Redis may have lost it."""
        there = in_pods(pods)
        if self._barrier:
            return self._unread(there, *self._barrier)
        self._keep()
        try:
            self._stored = self._secret.read()
        except Denied as error:
            return self._unread(there, "SecretRefused", f"{error}: {BIND}")
        if self._stored.strange:
            return self._unread(there, "SecretOfAnother", self._strange())
        return self._good(there)

    def rotate(self, issued: Issued, pods: Iterable[Pod], now: datetime, idle: Callable[[], bool]) -> Issued:
        """`issued` is what `verify` said. The first token waits for nothing. What no pod has any more is forgotten."""
        if issued.problem:
            return issued
        there = in_pods(pods)
        tokens = self._renewed(now, idle) or {
            name: self._stored.tokens[name] for name in kept(self._stored.tokens, {each.name for each in there})
        }
        if tokens == self._stored.tokens:
            return issued
        self._keep()
        try:
            self._secret.write(self._stored, tokens)
        except (Denied, Invalid) as error:
            shown(error)
            return _unwritten(issued, str(error))
        self._stored = Stored(tokens)
        return self._good(there)

    def foreseen(self, now: datetime, idle: bool) -> tuple[str | None, str]:
        """The token that pods have now ('' for none, None: it cannot be known), and what becomes of it. Reads only."""
        if self._barrier:
            return None, self._barrier[1]
        stored = self._secret.read()
        name = newest(stored.tokens)
        if stored.strange:
            return None, self._strange()
        if not name:
            return "", "the first is made"
        if not overdue(stored.tokens, self._after, now):
            return name, f"stays: it was made {when(name)}, and is replaced after {self._after}"
        return name, "is replaced" if idle else "stays: it is too old, and slots are in use"

    def _renewed(self, now: datetime, idle: Callable[[], bool]) -> dict[str, str] | None:
        """None: not now. Forgets none: a newer run may be about to give the one before it to a pod."""
        stored = self._stored.tokens
        if newest(stored) and not (overdue(stored, self._after, now) and idle()):
            return None
        name = fresh(stored, now, secrets.token_hex(4))
        log.info("token_rotated", pool=self._user.pool, token=name)
        return {**stored, name: secrets.token_urlsafe(32)}

    def _strange(self) -> str:
        return f"Secret {self._secret.name} is not of this pool: name another one in runnerToken.secretName"

    def _unread(self, there: Collection[Carried], reason: str, message: str) -> Issued:
        """Pods that have a token live by it all the same."""
        if there:
            self._keep()
            self._user.ensure(self._run, digests(there))
        return _refused(reason, message)

    def _good(self, there: Collection[Carried]) -> Issued:
        tokens = {name: digest(password) for name, password in self._stored.tokens.items()}
        self._keep()
        if refusal := self._user.ensure(self._run, {*tokens.values(), *digests(there)}):
            return _refused("AclRefused", f"Redis makes no user for the runners: {refusal}: {ALLOW}")
        name = newest(tokens)
        token = Carried(name, tokens[name]) if name else None
        return Issued(self._secret.name, self._user.name, token, caution=OPEN if self._user.unconfined() else "")


def tokens_of(
    services: PodPoolServices, run: Run | None, ledger: SlotLedger, pool: Snapshot, spec: PodPoolSpec
) -> RunnerTokens | NoTokens:
    """As the spec wants them; without a run they can be read only. Runners find their scripts before their user."""
    refusal = preload(ledger) if run and spec.slots else ""
    user, wish, (namespace, name) = RunnerUser(ledger.redis, ledger.pool), spec.token, ledger.pool.split("/")
    token = run.token if run else ""
    if not wish:
        return NoTokens(user, token)
    secret = TokenSecret(services.kube, namespace, wish.secret_of(name), name, owner_reference(pool))
    keep: Keep = partial(run.keep, services.call_time) if run else (lambda: None)
    return RunnerTokens(user, token, secret, length(wish.rotate_after), keep, _barrier(services, refusal))


def _barrier(services: PodPoolServices, refusal: str) -> Problem | None:
    if services.withheld:
        return "AddressWithheld", services.withheld
    return ("ScriptsRefused", f"Redis loads no scripts for the runners: {refusal}: {ALLOW}") if refusal else None


def forget_user(services: PodPoolServices, run: Run, ledger: SlotLedger) -> None:
    """Of a pool that is gone, once no pod lives by it: its end would end their connections. Each end runs this."""
    user, (namespace, name) = RunnerUser(ledger.redis, ledger.pool), ledger.pool.split("/")
    if user.exists() and not PoolPods(services.kube, namespace, name, {}).labelled():
        user.remove(run.token)


def in_pods(pods: Iterable[Pod]) -> frozenset[Carried]:
    """Of one name there may be two: a person has changed the password between two pods."""
    said = (carried(pod.annotations.get(RUNNER_TOKEN)) for pod in pods)
    return frozenset(each for each in said if each)


def digests(there: Iterable[Carried]) -> set[str]:
    return {each.digest for each in there}


def _refused(reason: str, message: str) -> Issued:
    return Issued(problem=(reason, f"{message}. No pod is made without a token of its own"))


def _unwritten(issued: Issued, message: str) -> Issued:
    """What is in the Secret stays good."""
    if not issued.token:
        return _refused("SecretRefused", f"{message}: {BIND}")
    return replace(issued, problem=("SecretRefused", f"{message}. New pods get {issued.name}, which is still good"))
