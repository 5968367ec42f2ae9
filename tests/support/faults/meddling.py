"""What people and other programs do to our things in AWS, without asking."""

from __future__ import annotations

import contextlib
from random import Random
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from berthmaster.errors import TerminalError, TransientError
from tests.fixtures.aws import Aws
from tests.support.ports.world_checks import load_balancers
from workers.cloud.driver import Listener
from workers.cloud.tags import CLUSTER, LOAD_BALANCER, OWNER, PORT, UID, WANT

STRANGER = "10.9.9.9"
TELLING = (OWNER, UID, WANT, PORT, LOAD_BALANCER)
REFUSED = (ClientError, BotoCoreError, TransientError, TerminalError)


class Meddling:
    """Of one cluster. `spared` are ARNs of listeners that nobody touches. What AWS refuses is left."""

    def __init__(self, aws: Aws, cluster: str, chance: Random) -> None:
        self.aws, self.cluster, self.chance = aws, cluster, chance
        self.spared: frozenset[str] = frozenset()

    @property
    def client(self) -> Any:
        return self.aws.client()

    def some_listener(self) -> Listener | None:
        arn = self.chance.choice(list(load_balancers(self.aws).values()))
        rows = self.aws.driver().listeners(arn)
        ours = [row for row in rows if row.tags.get(CLUSTER) == self.cluster and row.arn not in self.spared]
        return self.chance.choice(ours) if ours else None

    def delete(self) -> None:
        """A listener, with its target group or without."""
        with contextlib.suppress(*REFUSED):
            if row := self.some_listener():
                self.client.delete_listener(ListenerArn=row.arn)
                if self.chance.random() < 0.5:
                    self.client.delete_target_group(TargetGroupArn=row.target_group_arn)

    def redirect(self) -> None:
        """The pod is taken out of its target group, or somebody else put in, or both."""
        with contextlib.suppress(*REFUSED):
            if row := self.some_listener():
                group = row.target_group_arn
                told = self.client.describe_target_health(TargetGroupArn=group)["TargetHealthDescriptions"]
                if told and self.chance.random() < 0.6:
                    self.client.deregister_targets(TargetGroupArn=group, Targets=[told[0]["Target"]])
                if self.chance.random() < 0.6:
                    self.client.register_targets(TargetGroupArn=group, Targets=[{"Id": STRANGER, "Port": 80}])

    def strip(self) -> None:
        """Tags that say whose something is, but not those that say that it is ours: with these and with Redis gone at
        once, nobody could know it any more, and what is not ours is not touched.
        """
        with contextlib.suppress(*REFUSED):
            if row := self.some_listener():
                arns = [self.chance.choice([row.arn, row.target_group_arn])]
                keys = self.chance.choice([[OWNER], [UID], [WANT], [PORT], [LOAD_BALANCER], list(TELLING)])
                self.client.remove_tags(ResourceArns=arns, TagKeys=keys)
