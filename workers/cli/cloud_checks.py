"""What `doctor` asks AWS: read-only calls, which cost nothing, in each region that a port pool names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from berthmaster.kinds import PORT_POOL
from workers.cli.check import Check
from workers.cli.cluster_checks import listed
from workers.cloud.aws.access_check import CHECKS, check_access
from workers.cloud.aws.settings import AwsSettings
from workers.cloud.errors import CloudDenied, CloudError

if TYPE_CHECKING:
    from events.kube.api import KubeApi

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


def cloud_checks(kube: KubeApi, settings: AwsSettings) -> Iterator[Check]:
    """Check AWS in each region that a port pool names."""
    for region in regions(listed(kube, PORT_POOL)):
        yield from region_checks(settings, region)


def regions(pools: list[dict[str, Any]]) -> list[str]:
    """Return the regions of the pools, sorted."""
    return sorted({str(region) for pool in pools if (region := (pool.get("spec") or {}).get("region"))})


def region_checks(settings: AwsSettings, region: str) -> Iterator[Check]:
    """Check one region. Yields a line for each action that fails, but only one line if all fail in the same way."""
    problems = {action: in_plain(error) for action, error in check_access(settings, region).items() if error}
    name = f"AWS in {region}"
    if not problems:
        yield Check(name, ok=True, finding=f"answers {', '.join(CHECKS)}; actions that change something were not tried")
    elif len(problems) == len(CHECKS) and len(set(problems.values())) == 1:
        yield Check(name, ok=False, finding=next(iter(problems.values())))
    else:
        yield from problem_checks(name, problems)


def problem_checks(name: str, problems: Mapping[str, str]) -> Iterator[Check]:
    """Yield a failed check for each action."""
    for action, problem in problems.items():
        yield Check(f"{name}: {action}", ok=False, finding=problem)


def in_plain(error: CloudError) -> str:
    """Explain an error of AWS, and say what to do."""
    if error.code in NO_CREDENTIALS:
        return "no credentials: give the pod's service account a role (IRSA), or set AWS_ACCESS_KEY_ID or AWS_PROFILE"
    if error.code in BAD_CREDENTIALS:
        return f"AWS does not accept the credentials ({error.code}): renew them, and look at this machine's clock"
    if isinstance(error, CloudDenied):
        return f"not allowed ({error.code}): attach deploy/iam/policy.json to the role"
    return f"no answer ({error.reason}): is the region right, and may this machine reach AWS?"
