"""The one way to AWS: each call takes a token, proves the caller's lease, is measured, and raises errors of ours.

botocore does not retry (workers.cloud.aws.session): a retry needs a token as well, and only the caller knows whether
its lease still stands.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from berthmaster import tracing
from domain.port_pools.providers import AWS
from workers.cloud.aws import metrics
from workers.cloud.aws.actions import ACTIONS
from workers.cloud.aws.error_codes import translate
from workers.cloud.aws.settings import AwsSettings
from workers.cloud.aws.shared_answers import FRESH, SharedAnswers
from workers.cloud.call_budget import ApiClass, Buckets, OverBudget
from workers.cloud.errors import CloudDenied, CloudError, CloudNotFound, Throttled
from workers.cloud.mutexes import LoadBalancerMutexes, MutexHeld
from workers.cloud.priority import Priority

if TYPE_CHECKING:
    from mypy_boto3_elbv2 import ElasticLoadBalancingv2Client

P = ParamSpec("P")
R = TypeVar("R")
Keep = Callable[[timedelta], None]
ARN_PARAMETERS: Final = ("ListenerArn", "LoadBalancerArn", "TargetGroupArn")
DESCRIBE_BY_ARN: Final = {
    ":listener/": ("describe_listeners", "ListenerArns"),
    ":loadbalancer/": ("describe_load_balancers", "LoadBalancerArns"),
    ":targetgroup/": ("describe_target_groups", "TargetGroupArns"),
}
MUTEX_POLL: Final = 0.02
"""Seconds between two attempts of one call to get a mutex that another holds."""
MUTEX_RETRY: Final = timedelta(milliseconds=500)
"""The wait of a run whose call got no mutex."""


@dataclass(frozen=True)
class Caller:
    """On whose behalf calls go out; see LoadBalancerApi.on_behalf_of."""

    name: str
    priority: Priority
    patience: timedelta
    keep: Keep | None = None


class Gateway:
    """Calls AWS for one caller; all callers share `answers`."""

    def __init__(
        self,
        client: ElasticLoadBalancingv2Client,
        settings: AwsSettings,
        buckets: Buckets,
        mutexes: LoadBalancerMutexes,
        caller: Caller,
    ) -> None:
        self.client, self.settings, self.caller, self.answers = client, settings, caller, SharedAnswers()
        self._buckets, self._mutexes = buckets, mutexes

    def on_behalf_of(self, caller: Caller) -> Gateway:
        """The same gateway for another caller."""
        other = copy(self)
        other.caller = caller
        return other

    def call(self, method: Callable[P, R], *args: P.args, **parameters: P.kwargs) -> R:
        """Call a method of `client`. Raises CloudError, OverBudget, and what `keep` raises."""
        action: str = self.client.meta.method_to_api_mapping[method.__name__]
        self._take_token(ACTIONS[action])
        self.keep(self.settings.call_timeout)
        failure: CloudError | None = None
        started = time.monotonic()
        try:
            with tracing.span(f"AWS {action}", caller=self.caller.name):
                return method(*args, **parameters)
        except (ClientError, BotoCoreError) as error:
            failure = translate(action, error)
            if isinstance(failure, CloudDenied) and not action.startswith("Describe"):
                failure = self._gone(parameters) or failure
            if isinstance(failure, Throttled):
                self._buckets.drain(ACTIONS[action])
            raise failure from error
        finally:
            metrics.observe_call(action, failure, time.monotonic() - started)

    def _gone(self, parameters: Mapping[str, Any]) -> CloudNotFound | None:
        """Tell a denied call from one whose resource is gone: a policy that asks for tags denies both."""
        for arn in (arn for name, arn in parameters.items() if name in ARN_PARAMETERS):
            describe, name = next(action for part, action in DESCRIBE_BY_ARN.items() if part in arn)
            try:
                self.call(getattr(self.client, describe), **{name: [arn]})
            except CloudNotFound as gone:
                return gone
        return None

    def pages(self, method: Callable[..., Any], **parameters: Any) -> Iterator[Any]:
        """All pages of a describing method, each with a token of its own."""
        page = self.call(method, **parameters)
        yield page
        while marker := page.get("NextMarker"):
            page = self.call(method, **parameters, Marker=marker)
            yield page

    def shared(self, question: str, ask: Callable[[], R]) -> R:
        """A fresh answer, shared by callers of one priority: urgent callers must not wait for others' tokens."""
        return self.shared_for(FRESH, f"{question} {self.caller.priority}", ask)

    def shared_for(self, max_age: timedelta, question: str, ask: Callable[[], R]) -> R:
        """An answer that is at most that old, shared by all callers."""
        return self.answers.get(question, ask, max_age, self.keep)

    @contextmanager
    def mutex(self, load_balancer_arn: str) -> Iterator[None]:
        """Hold the mutex for one call that creates or deletes on that load balancer. Raises MutexHeld."""
        longest = self.caller.patience + self.settings.call_timeout
        patient_until = time.monotonic() + self.caller.patience.total_seconds()
        while (token := self._mutexes.acquire(load_balancer_arn, longest)) is None:
            if time.monotonic() + MUTEX_POLL > patient_until:
                raise MutexHeld(f"another call is changing {load_balancer_arn}", MUTEX_RETRY)
            self.keep(timedelta(seconds=MUTEX_POLL))
            time.sleep(MUTEX_POLL)
        try:
            yield
        finally:
            self._mutexes.release(load_balancer_arn, token)

    def keep(self, at_least: timedelta) -> None:
        """Keep the caller's lease, if it has one. Raises what the caller's `keep` raises."""
        if self.caller.keep:
            self.caller.keep(at_least)

    def _take_token(self, api_class: ApiClass) -> None:
        patient_until = time.monotonic() + self.caller.patience.total_seconds()
        while (delay := self._buckets.acquire(api_class, self.caller.name, self.caller.priority)) is not None:
            if time.monotonic() + delay.total_seconds() > patient_until:
                metrics.count_budget_wait(api_class, "deferred")
                raise OverBudget(f"no token for a {api_class} call yet", delay, AWS.title)
            metrics.count_budget_wait(api_class, "slept")
            self.keep(delay)
            time.sleep(delay.total_seconds())
