"""The one way to AWS: every call gets its token, proves the caller's lease, is measured, and fails in our words.

botocore does not retry (workers.cloud.session): a retry must pay for its token as well, and only the caller knows
whether it is still entitled to it.
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
from workers.cloud import metrics
from workers.cloud.answers import Answers
from workers.cloud.errors import CloudError, Denied, NotFound, Throttled, translate
from workers.cloud.mutexes import Turns, TurnTaken
from workers.cloud.priority import Priority
from workers.cloud.rates import ACTIONS, ApiClass, Buckets, OverBudget
from workers.cloud.settings import AwsSettings

if TYPE_CHECKING:
    from mypy_boto3_elbv2 import ElasticLoadBalancingv2Client

P = ParamSpec("P")
R = TypeVar("R")
Keep = Callable[[timedelta], None]
NAMED: Final = ("ListenerArn", "LoadBalancerArn", "TargetGroupArn")
LOOKS: Final = {
    ":listener/": ("describe_listeners", "ListenerArns"),
    ":loadbalancer/": ("describe_load_balancers", "LoadBalancerArns"),
    ":targetgroup/": ("describe_target_groups", "TargetGroupArns"),
}
LOOK, COME_BACK = 0.02, timedelta(milliseconds=500)  # for a turn that another has: within the call, and in a later run


@dataclass(frozen=True)
class Caller:
    """On whose behalf calls are made; see LoadBalancerApi.on_behalf_of."""

    name: str
    priority: Priority
    patience: timedelta
    keep: Keep | None = None


class Gateway:
    """`answers` are kept for all callers."""

    def __init__(
        self,
        client: ElasticLoadBalancingv2Client,
        settings: AwsSettings,
        buckets: Buckets,
        turns: Turns,
        caller: Caller,
    ) -> None:
        self.client, self.settings, self.caller, self.answers = client, settings, caller, Answers()
        self._buckets, self._turns = buckets, turns

    def on_behalf_of(self, caller: Caller) -> Gateway:
        other = copy(self)
        other.caller = caller
        return other

    def call(self, method: Callable[P, R], *args: P.args, **parameters: P.kwargs) -> R:
        """Calls a method of `client`. Raises CloudError, OverBudget, and what `keep` raises."""
        action: str = self.client.meta.method_to_api_mapping[method.__name__]
        self._take_token(ACTIONS[action])
        if self.caller.keep:
            self.caller.keep(self.settings.call_timeout)
        failure: CloudError | None = None
        started = time.monotonic()
        try:
            with tracing.span(f"AWS {action}", caller=self.caller.name):
                return method(*args, **parameters)
        except (ClientError, BotoCoreError) as error:
            failure = translate(action, error)
            if isinstance(failure, Denied) and not action.startswith("Describe"):
                failure = self._gone(parameters) or failure
            if isinstance(failure, Throttled):
                self._buckets.drain(ACTIONS[action])
            raise failure from error
        finally:
            metrics.observe_call(action, failure, time.monotonic() - started)

    def _gone(self, parameters: Mapping[str, Any]) -> NotFound | None:
        """That what a denied call names is not there any more: a policy that asks for tags denies what has none."""
        for arn in (arn for name, arn in parameters.items() if name in NAMED):
            describe, name = next(look for part, look in LOOKS.items() if part in arn)
            try:
                self.call(getattr(self.client, describe), **{name: [arn]})
            except NotFound as gone:
                return gone
        return None

    def pages(self, method: Callable[..., Any], **parameters: Any) -> Iterator[Any]:
        """All answers of a describing method, each page with a token of its own."""
        page = self.call(method, **parameters)
        yield page
        while marker := page.get("NextMarker"):
            page = self.call(method, **parameters, Marker=marker)
            yield page

    def shared(self, question: str, ask: Callable[[], R]) -> R:
        """A fresh answer, shared with callers of the same priority: the urgent must not wait for others' tokens."""
        return self.answers.get(f"{question} {self.caller.priority}", ask)

    @contextmanager
    def turn(self, load_balancer_arn: str) -> Iterator[None]:
        """For one call that creates or deletes on that load balancer. Raises TurnTaken."""
        longest = self.caller.patience + self.settings.call_timeout
        patient_until = time.monotonic() + self.caller.patience.total_seconds()
        while not (token := self._turns.enter(load_balancer_arn, longest)):
            if time.monotonic() + LOOK > patient_until:
                raise TurnTaken(f"another call is changing {load_balancer_arn}", COME_BACK)
            time.sleep(LOOK)
        try:
            yield
        finally:
            self._turns.leave(load_balancer_arn, token)

    def _take_token(self, api_class: ApiClass) -> None:
        patient_until = time.monotonic() + self.caller.patience.total_seconds()
        while (delay := self._buckets.acquire(api_class, self.caller.name, self.caller.priority)) is not None:
            if time.monotonic() + delay.total_seconds() > patient_until:
                metrics.count_budget_wait(api_class, "deferred")
                raise OverBudget(f"no token for a {api_class} call yet", delay)
            metrics.count_budget_wait(api_class, "slept")
            time.sleep(delay.total_seconds())
