"""What the account may have: AWS's own numbers, which a person can have raised."""

from __future__ import annotations

from typing import Final

from workers.cloud.driver import Limits
from workers.cloud.tagged import Tagged

DEFAULTS: Final = Limits(load_balancers=50, listeners=50, target_groups=3000)
"""AWS's, for a number that it does not tell."""


class AccountLimits(Tagged):
    def limits(self) -> Limits:
        return self._gateway.answers.get("limits", self._gateway.settings.limits_for, self._limits)

    def _limits(self) -> Limits:
        pages = self._gateway.pages(self._gateway.client.describe_account_limits)
        told = {each.get("Name", ""): int(each.get("Max", 0)) for page in pages for each in page["Limits"]}
        return Limits(
            told.get("network-load-balancers", DEFAULTS.load_balancers),
            told.get("listeners-per-network-load-balancer", DEFAULTS.listeners),
            told.get("target-groups", DEFAULTS.target_groups),
        )
