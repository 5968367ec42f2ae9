"""What the account may have: AWS's own numbers, which a person can have raised."""

from __future__ import annotations

from typing import Final

import structlog

from workers.cloud.driver import Limits
from workers.cloud.errors import Denied
from workers.cloud.tagged import Tagged

log = structlog.get_logger()
DEFAULTS: Final = Limits(load_balancers=50, listeners=50, target_groups=3000)
"""AWS's, for a number that it does not tell."""


class AccountLimits(Tagged):
    def limits(self) -> Limits:
        return self._gateway.answers.get("limits", self._allowed, self._gateway.settings.limits_for)

    def _allowed(self) -> Limits:
        """An account whose policy does not allow the question has AWS's defaults, as far as we know."""
        try:
            return self._limits()
        except Denied as error:
            log.warning("limits_unknown", reason=error.reason)
            return DEFAULTS

    def _limits(self) -> Limits:
        pages = self._gateway.pages(self._gateway.client.describe_account_limits)
        told = {each.get("Name", ""): int(each.get("Max", 0)) for page in pages for each in page["Limits"]}
        return Limits(
            told.get("network-load-balancers", DEFAULTS.load_balancers),
            told.get("listeners-per-network-load-balancer", DEFAULTS.listeners),
            told.get("target-groups", DEFAULTS.target_groups),
        )
