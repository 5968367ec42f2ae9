"""The limits of the account, as AWS states them: a person can have them raised."""

from __future__ import annotations

from typing import Final

import structlog

from workers.cloud.aws.tagging import TagCalls
from workers.cloud.driver import Limits
from workers.cloud.errors import CloudDenied

log = structlog.get_logger()
DEFAULTS: Final = Limits(load_balancers=50, listeners=50, target_groups=3000)
"""AWS's own defaults, for a limit that it does not state."""


class AccountLimits(TagCalls):
    """How many resources the account may have."""

    def limits(self) -> Limits:
        """The limits of the account, kept for a while."""
        return self._gateway.shared_for(self._gateway.settings.limits_for, "limits", self._allowed)

    def _allowed(self) -> Limits:
        """Where the policy of the account does not allow the call, AWS's defaults count."""
        try:
            return self._limits()
        except CloudDenied as error:
            log.warning("limits_unknown", reason=error.reason)
            return DEFAULTS

    def _limits(self) -> Limits:
        pages = self._gateway.pages(self._gateway.client.describe_account_limits)
        maxima = {limit.get("Name", ""): int(limit.get("Max", 0)) for page in pages for limit in page["Limits"]}
        return Limits(
            maxima.get("network-load-balancers", DEFAULTS.load_balancers),
            maxima.get("listeners-per-network-load-balancer", DEFAULTS.listeners),
            maxima.get("target-groups", DEFAULTS.target_groups),
        )
