"""The words of the call budget: which calls share an allowance.

AWS throttles an account per group of actions, and a throttled account throttles everybody in it. So every call asks
for a token first, of a budget that all workers share (workers.stores.buckets), or of none at all (`Unlimited`).
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Final, Protocol

from berthmaster.errors import TransientError
from workers.cloud.priority import Priority


class ApiClass(StrEnum):
    """Actions that share one allowance, in each region."""

    REGISTER = "register"
    MODIFY = "modify"
    WRITE = "write"
    DESCRIBE = "describe"


ACTIONS: Final = {
    "RegisterTargets": ApiClass.REGISTER,
    "DeregisterTargets": ApiClass.REGISTER,
    "ModifyLoadBalancerAttributes": ApiClass.MODIFY,
    "ModifyListener": ApiClass.MODIFY,
    "ModifyTargetGroup": ApiClass.MODIFY,
    "ModifyTargetGroupAttributes": ApiClass.MODIFY,
    "CreateLoadBalancer": ApiClass.WRITE,
    "CreateListener": ApiClass.WRITE,
    "CreateTargetGroup": ApiClass.WRITE,
    "DeleteLoadBalancer": ApiClass.WRITE,
    "DeleteListener": ApiClass.WRITE,
    "DeleteTargetGroup": ApiClass.WRITE,
    "AddTags": ApiClass.WRITE,
    "DescribeAccountLimits": ApiClass.DESCRIBE,
    "DescribeLoadBalancers": ApiClass.DESCRIBE,
    "DescribeListeners": ApiClass.DESCRIBE,
    "DescribeTargetGroups": ApiClass.DESCRIBE,
    "DescribeTargetHealth": ApiClass.DESCRIBE,
    "DescribeTags": ApiClass.DESCRIBE,
}
"""Every action of AWS that we use; deploy/iam/policy.json allows exactly these."""


class OverBudget(TransientError):  # noqa: N818 - named by what it says, as the errors of AWS are
    """No token for this call yet. Nothing was sent; one is reserved for the caller after `retry_after`."""


class Buckets(Protocol):
    """A shared allowance of calls."""

    def acquire(self, api_class: ApiClass, caller: str, priority: Priority) -> timedelta | None:
        """None: go. Else a token is reserved for this caller: come back after so long, it is there then."""
        ...

    def drain(self, api_class: ApiClass) -> None:
        """AWS has throttled: nobody has tokens now."""
        ...


class Unlimited:
    """No allowance at all: for tests, and for servers that do not throttle."""

    def acquire(self, api_class: ApiClass, caller: str, priority: Priority) -> timedelta | None:  # noqa: ARG002 - interface
        return None

    def drain(self, api_class: ApiClass) -> None:
        pass
