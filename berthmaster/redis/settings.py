"""Settings of the Redis that holds the state and of the broker, which client, runner, workers and publisher share."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from berthmaster.duration import Duration
from berthmaster.forms import form
from berthmaster.redis.address import by_sentinel, checked, checked_broker

BEHIND_SENTINEL: Final = timedelta(seconds=15)
"""Redis's own `min-replicas-max-lag` of 10 s, and time to publish what was granted in it."""

LOOK_LASTS: Final = timedelta(seconds=5)
"""How long one that is killed while it looks for the messages of dead workers keeps the others from looking.

A look that lasts longer takes no message from a living worker: see berthmaster/celery/restoring.py.
"""


class Nested(BaseModel):
    """A group of settings: read-only, unknown names refused, field docs taken from the text under each field."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


CLUSTER: Final = form(
    r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$",
    "letters, digits, '.', '_' and '-', with a letter or digit at both ends",
)
ClusterName = Annotated[str, Field(min_length=1, max_length=63, pattern=CLUSTER)]


class RedisSettings(Nested):
    """The Redis or Valkey (>= 7.0) that holds snapshots, ledger and slots."""

    url: Annotated[str, AfterValidator(checked)] = "redis://127.0.0.1:6379/0"
    """Address of the state (`redis://`, `rediss://`, `unix://`, `redis+sentinel://`); needs `noeviction`."""


class StateSettings(RedisSettings):
    """The same, for who decides what is in it."""

    failover_wait: Duration | None = Field(default=None, ge=timedelta(0), le=timedelta(minutes=2))
    """Rest of the publisher before workers go on with another master, whose predecessor may still take writes: above
    its `min-replicas-max-lag`. None means 15 s behind Sentinel and with a promoted replica, else 0."""

    def rest(self, *, promoted: bool) -> timedelta:
        """Return the rest after a change of the master. `promoted`: the new one was a replica before."""
        usual = BEHIND_SENTINEL if promoted or by_sentinel(self.url) else timedelta(0)
        return usual if self.failover_wait is None else self.failover_wait


class BrokerSettings(Nested):
    """The Celery broker, where it is not the Redis of the state."""

    url: Annotated[str, AfterValidator(checked_broker)] | None = None
    """Address of the broker; None means the Redis of the state, which saves one round trip an event."""
