"""Errors of the load-balancer interface, whatever the provider.

A caller must tell apart what it can answer (the port is taken, the quota is reached, the resource is gone) and what
only time or a person can mend. All but `CloudInvalid` are worth another attempt: no event announces that somebody
granted a missing permission.
"""

# ruff: noqa: N818 - the classes are named by what they say, and are all CloudError

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from berthmaster.errors import TerminalError, TransientError


class CloudError(Exception):
    """`action` is the provider's action, `code` its own code (or the class of the client's error), `reason` for people.

    `call` is the action as people read it, after the provider's title: `AWS CreateListener`. `result` is the value of
    the label `result` in the metrics.
    """

    result: ClassVar[str] = "error"

    def __init__(self, action: str, code: str, message: str, provider: str = "cloud") -> None:
        super().__init__(f"{action}: {code}: {message}")
        self.action, self.code, self.reason = action, code, f"{code}: {message}"
        self.call = f"{provider} {action}"


class CloudNotFound(CloudError, TransientError):
    """The load balancer, listener or target group does not exist."""

    result = "notfound"


class LoadBalancerGone(CloudNotFound):
    """The load balancer of the call does not exist."""


class NameTaken(CloudError, TransientError):
    """The name belongs to a resource with other settings."""

    result = "alreadyexists"


class ForeignName(NameTaken):
    """The name belongs to a resource whose tags are not ours."""


class PortTaken(NameTaken):
    """The port of the load balancer has another listener than the one asked for."""

    result = "porttaken"


class Throttled(CloudError, TransientError):
    """The provider takes no more calls of this class for now."""

    result = "throttled"


class Busy(CloudError, TransientError):
    """Something still uses the resource, or an earlier request for it is not complete."""

    result = "busy"


class QuotaExceeded(CloudError, TransientError):
    """The account has reached a limit; `code` says which."""

    result = "quotaexceeded"


class LoadBalancersFull(QuotaExceeded):
    """The account may have no more load balancers in the region."""


class ListenersFull(QuotaExceeded):
    """The load balancer may have no more listeners."""


class CloudDenied(CloudError, TransientError):
    """A permission is missing, credentials are missing or expired, or deletion protection is on."""

    result = "denied"


class CloudUnavailable(CloudError, TransientError):
    """There was no answer, or none that says anything: the call may have been applied."""

    result = "unavailable"


class CloudInvalid(CloudError, TerminalError):
    """The provider refuses the parameters, and would refuse them again."""

    result = "invalid"


def cloud_error_in(error: BaseException) -> CloudError | None:
    """The CloudError to report, out of an error, its cause and the members of a group.

    An error that a person must mend comes before one that time mends. A throttled call comes last.
    """
    candidates = (member for member in _family(error) if isinstance(member, CloudError))
    return min(candidates, key=_urgency, default=None)


def _urgency(error: CloudError) -> tuple[bool, bool]:
    return not isinstance(error, (CloudDenied, CloudInvalid)), isinstance(error, Throttled)


def _family(error: BaseException) -> Iterator[BaseException]:
    yield error
    members = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    for other in (*members, *([error.__cause__] if error.__cause__ else [])):
        yield from _family(other)
