"""Translates AWS's error codes into the errors of the interface, in one table."""

from __future__ import annotations

from typing import Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
)

from domain.port_pools.providers import AWS
from workers.cloud.errors import (
    Busy,
    CloudDenied,
    CloudError,
    CloudInvalid,
    CloudNotFound,
    CloudUnavailable,
    ListenersFull,
    LoadBalancerGone,
    LoadBalancersFull,
    NameTaken,
    PortTaken,
    QuotaExceeded,
    Throttled,
)

CODES: Final[dict[type[CloudError], tuple[str, ...]]] = {
    LoadBalancerGone: ("LoadBalancerNotFound",),
    CloudNotFound: ("ListenerNotFound", "TargetGroupNotFound", "ResourceNotFound", "RuleNotFound"),
    NameTaken: ("DuplicateLoadBalancerName", "DuplicateTargetGroupName"),
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
    LoadBalancersFull: ("TooManyLoadBalancers",),
    ListenersFull: ("TooManyListeners",),
    QuotaExceeded: (
        "TooManyTargetGroups",
        "TooManyTargets",
        "TooManyRegistrationsForTargetId",
        "TooManyUniqueTargetGroupsPerLoadBalancer",
        "TargetGroupAssociationLimit",
        "TooManyCertificates",
        "TooManyActions",
        "TooManyTags",
    ),
    CloudDenied: (
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
    CloudInvalid: (
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
    CloudUnavailable: (
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
    """Translate what botocore raised. The call of an unknown code may have been applied: CloudUnavailable."""
    if isinstance(error, ClientError):
        details = error.response.get("Error", {})
        code = str(details.get("Code", "Unknown"))
        return BY_CODE.get(code, CloudUnavailable)(action, code, str(details.get("Message", "")), AWS.title)
    return _without_answer(error)(action, type(error).__name__, str(error), AWS.title)


def _without_answer(error: BotoCoreError) -> type[CloudError]:
    if isinstance(error, NO_CREDENTIALS):
        return CloudDenied
    return CloudInvalid if isinstance(error, ParamValidationError) else CloudUnavailable
