"""Checks whether AWS answers this machine: actions that change nothing and need no name of a resource."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from workers.cloud.aws.error_codes import translate
from workers.cloud.aws.session import elbv2
from workers.cloud.aws.settings import AwsSettings
from workers.cloud.errors import CloudDenied, CloudError

CHECKS: Final[Mapping[str, Callable[[Any], object]]] = {
    "DescribeAccountLimits": lambda client: client.describe_account_limits(),
    "DescribeLoadBalancers": lambda client: client.describe_load_balancers(PageSize=1),
    "DescribeTargetGroups": lambda client: client.describe_target_groups(PageSize=1),
}
"""Every other action of ours needs a resource that exists, or changes one."""
NO_CREDENTIALS: Final = ("NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError")
BAD_CREDENTIALS: Final = (
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidClientTokenId",
    "UnrecognizedClientException",
    "SignatureDoesNotMatch",
    "AuthFailure",
    "RequestExpired",
)


def check_access(settings: AwsSettings, region: str) -> dict[str, CloudError | None]:
    """The error of each action, None where AWS answered.

    The calls do not count against the call budget: they are few, and somebody starts them by hand.
    """
    client = elbv2(settings, region)
    return {action: _outcome(client, action) for action in CHECKS}


def _outcome(client: Any, action: str) -> CloudError | None:
    try:
        CHECKS[action](client)
    except (ClientError, BotoCoreError) as error:
        return translate(action, error)
    return None


def in_plain(error: CloudError) -> str:
    """Explain an error of AWS, and say what to do."""
    if error.code in NO_CREDENTIALS:
        return "no credentials: give the pod's service account a role (IRSA), or set AWS_ACCESS_KEY_ID or AWS_PROFILE"
    if error.code in BAD_CREDENTIALS:
        return f"AWS does not accept the credentials ({error.code}): renew them, and look at this machine's clock"
    if isinstance(error, CloudDenied):
        return f"not allowed ({error.code}): attach deploy/iam/policy.json to the role"
    return f"no answer ({error.reason}): is the region right, and may this machine reach AWS?"
