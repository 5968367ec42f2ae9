"""AWS errors, translated in one table.

A caller must tell apart what it can answer (the port is taken, the quota is reached, the thing is gone) and what only
time or a person can. All but `Invalid` are worth another attempt: a missing permission comes back without any event
that would wake the run.
"""

# ruff: noqa: N818 - the classes are named by what they say, and are all CloudError

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
)

from berthmaster.errors import TerminalError, TransientError


class CloudError(Exception):
    """`action` is the AWS action, `code` AWS's own code (or the class of the client's error), `reason` for people."""

    def __init__(self, action: str, code: str, message: str) -> None:
        super().__init__(f"{action}: {code}: {message}")
        self.action, self.code, self.reason = action, code, f"{code}: {message}"


class NotFound(CloudError, TransientError):
    """The load balancer, listener or target group is not there; `code` says which of them."""


class AlreadyExists(CloudError, TransientError):
    """The name is taken by something with other settings."""


class ForeignName(AlreadyExists):
    """The name is taken by something whose tags are not ours."""


class PortTaken(AlreadyExists):
    """The port of the load balancer has a listener that is not the one asked for."""


class Throttled(CloudError, TransientError):
    """AWS takes no more calls of this class for now."""


class Busy(CloudError, TransientError):
    """Something still uses it, or an earlier request for it is not complete."""


class QuotaExceeded(CloudError, TransientError):
    """A limit of AWS is reached; `code` says which (TooManyListeners, TooManyTargetGroups, ...)."""


class Denied(CloudError, TransientError):
    """Missing permission, missing or expired credentials, or deletion protection."""


class Unavailable(CloudError, TransientError):
    """No answer, or none that says anything: the call may or may not have been applied."""


class Invalid(CloudError, TerminalError):
    """AWS refuses the parameters, and would refuse them again."""


CODES: Final[dict[type[CloudError], tuple[str, ...]]] = {
    NotFound: ("LoadBalancerNotFound", "ListenerNotFound", "TargetGroupNotFound", "ResourceNotFound", "RuleNotFound"),
    AlreadyExists: ("DuplicateLoadBalancerName", "DuplicateTargetGroupName"),
    PortTaken: ("DuplicateListener",),
    Throttled: (
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "RequestThrottled",
        "RequestThrottledException",
        "RequestLimitExceeded",
        "TooManyRequestsException",
        "BandwidthLimitExceeded",
        "SlowDown",
    ),
    Busy: ("ResourceInUse", "PriorRequestNotComplete"),
    QuotaExceeded: (
        "TooManyLoadBalancers",
        "TooManyListeners",
        "TooManyTargetGroups",
        "TooManyTargets",
        "TooManyRegistrationsForTargetId",
        "TooManyUniqueTargetGroupsPerLoadBalancer",
        "TargetGroupAssociationLimit",
        "TooManyCertificates",
        "TooManyActions",
        "TooManyTags",
    ),
    Denied: (
        "AccessDenied",
        "AccessDeniedException",
        "UnauthorizedOperation",
        "OperationNotPermitted",
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "RequestExpired",
        "InvalidClientTokenId",
        "UnrecognizedClientException",
        "SignatureDoesNotMatch",
        "IncompleteSignature",
        "MissingAuthenticationToken",
        "OptInRequired",
    ),
    Invalid: (
        "ValidationError",
        "InvalidParameterValue",
        "InvalidParameterCombination",
        "MissingParameter",
        "MalformedQueryString",
        "InvalidConfigurationRequest",
        "InvalidScheme",
        "InvalidSecurityGroup",
        "InvalidSubnet",
        "SubnetNotFound",
        "AllocationIdNotFound",
        "AvailabilityZoneNotSupported",
        "IncompatibleProtocols",
        "UnsupportedProtocol",
        "InvalidTarget",
        "InvalidLoadBalancerAction",
        "CertificateNotFound",
        "SSLPolicyNotFound",
        "ALPNPolicyNotFound",
        "DuplicateTagKeys",
    ),
    Unavailable: (
        "InternalFailure",
        "InternalError",
        "ServiceUnavailable",
        "HealthUnavailable",
        "InsufficientCapacity",
    ),
}
BY_CODE: Final = {code: error for error, codes in CODES.items() for code in codes}
NO_CREDENTIALS: Final = (NoCredentialsError, PartialCredentialsError, CredentialRetrievalError)


def translate(action: str, error: ClientError | BotoCoreError) -> CloudError:
    """The error of ours for what botocore raised. A code that is in no table may have been applied: Unavailable."""
    if isinstance(error, ClientError):
        told = error.response.get("Error", {})
        code = str(told.get("Code", "Unknown"))
        return BY_CODE.get(code, Unavailable)(action, code, str(told.get("Message", "")))
    return _without_answer(error)(action, type(error).__name__, str(error))


def _without_answer(error: BotoCoreError) -> type[CloudError]:
    if isinstance(error, NO_CREDENTIALS):
        return Denied
    return Invalid if isinstance(error, ParamValidationError) else Unavailable


def cloud_error_in(error: BaseException) -> CloudError | None:
    """The one to tell people of, among an error, what caused it, and the members of a group.

    One that a person must mend comes before one that time mends, a throttled call last.
    """
    found = (each for each in _family(error) if isinstance(each, CloudError))
    return min(
        found, key=lambda each: (not isinstance(each, (Denied, Invalid)), isinstance(each, Throttled)), default=None
    )


def _family(error: BaseException) -> Iterator[BaseException]:
    yield error
    members = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    for other in (*members, *([error.__cause__] if error.__cause__ else [])):
        yield from _family(other)
