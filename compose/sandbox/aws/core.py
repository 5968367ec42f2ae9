"""What all parts of the strict backend share: settings, clock, network, and the users of each target group."""

from __future__ import annotations

import time
from typing import Any

from moto.elbv2.models import ELBv2Backend, FakeListener

from compose.sandbox.aws.network import SandboxVpc
from compose.sandbox.aws.settings import Settings


class Core(ELBv2Backend):
    """moto's backend of one region, with its own network."""

    def __init__(self, region_name: str, account_id: str, settings: Settings) -> None:
        super().__init__(region_name, account_id)
        self.settings, self.network = settings, SandboxVpc(region_name)
        self.users: dict[str, set[str]] = {}  # target group ARN -> ARNs of the listeners that forward to it

    @property
    def ec2_backend(self) -> Any:
        """The network, in place of moto's EC2 backend."""
        return self.network

    def now(self) -> float:
        """Return the monotonic time in seconds."""
        return time.monotonic()

    def forwards_to(self, listener: FakeListener) -> list[str]:
        """Return the ARNs of the target groups that a listener's default actions use."""
        forwards = [action for action in listener.default_actions if action.type == "forward"]
        return [arn for action in forwards for arn in self._get_target_group_arns_from(action.data)]

    def link(self, listener: FakeListener) -> None:
        """Record the listener as a user of the target groups that it forwards to."""
        for arn in self.forwards_to(listener):
            self.users.setdefault(arn, set()).add(listener.arn)
            self._show_users(arn)

    def unlink(self, listener: FakeListener) -> None:
        """Remove the listener from the users of the target groups that it forwards to."""
        for arn in self.forwards_to(listener):
            self.users.get(arn, set()).discard(listener.arn)
            self._show_users(arn)

    def _show_users(self, target_group_arn: str) -> None:
        users = self.users.get(target_group_arn, set())
        group = self.target_groups[target_group_arn]
        group.load_balancer_arns = sorted({load_balancer_of(listener) for listener in users})


def load_balancer_of(listener_arn: str) -> str:
    """Return the ARN of the load balancer that a listener's ARN contains."""
    return listener_arn.replace(":listener/", ":loadbalancer/").rpartition("/")[0]
