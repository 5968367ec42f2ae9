"""Questions to AWS that change nothing and need no name: whether one may ask at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from workers.cloud.errors import CloudError, translate
from workers.cloud.session import elbv2
from workers.cloud.settings import AwsSettings

LOOKS: Final[Mapping[str, Callable[[Any], object]]] = {
    "DescribeAccountLimits": lambda client: client.describe_account_limits(),
    "DescribeLoadBalancers": lambda client: client.describe_load_balancers(PageSize=1),
    "DescribeTargetGroups": lambda client: client.describe_target_groups(PageSize=1),
}
"""The rest of our actions ask for, or change, something that must be there."""


def looks(settings: AwsSettings, region: str) -> dict[str, CloudError | None]:
    """What each came to; None: AWS has answered. Not charged to the call budget: they are few, and by hand."""
    client = elbv2(settings, region)
    return {action: _outcome(client, action) for action in LOOKS}


def _outcome(client: Any, action: str) -> CloudError | None:
    try:
        LOOKS[action](client)
    except (ClientError, BotoCoreError) as error:
        return translate(action, error)
    return None
