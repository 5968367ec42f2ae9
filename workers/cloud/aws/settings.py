"""Settings of AWS. Credentials, profile and role come from the standard AWS variables, as for any AWS tool."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from berthmaster.duration import Duration
from berthmaster.redis.settings import Nested
from workers.cloud.call_budget import ApiClass


class RateSettings(Nested):
    """One allowance of calls, shared by all workers of all clusters that use this Redis, in each region."""

    per_second: float = Field(gt=0)
    """Calls a second in the long run; above the account's limit AWS throttles everybody in the account."""

    burst: int = Field(ge=1)
    """Calls that may go at once after a quiet time; raising it shortens small peaks and risks throttling."""


class RatesSettings(Nested):
    """The allowances by class of action; the defaults lie below what AWS documents for a new account."""

    registration: RateSettings = RateSettings(per_second=4, burst=20)
    """RegisterTargets and DeregisterTargets; usually what limits binds a second."""

    modify: RateSettings = RateSettings(per_second=3, burst=20)
    """Modify... and Set... actions."""

    write: RateSettings = RateSettings(per_second=10, burst=40)
    """Create..., Delete... and tags: two of them a bind without precreated listeners."""

    describe: RateSettings = RateSettings(per_second=10, burst=40)
    """Describe... actions; raising it makes rebuild and audit of many load balancers faster."""

    def of(self, api_class: ApiClass) -> RateSettings:
        """The allowance of one class of actions."""
        return {
            ApiClass.REGISTER: self.registration,
            ApiClass.MODIFY: self.modify,
            ApiClass.WRITE: self.write,
            ApiClass.DESCRIBE: self.describe,
        }[api_class]


class AwsSettings(Nested):
    """How AWS is called."""

    endpoint_url: str | None = None
    """Address that replaces AWS's own, for the sandbox and tests; None means AWS (or AWS_ENDPOINT_URL)."""

    connect_timeout: Duration = Field(default=timedelta(seconds=3), gt=timedelta(0))
    """Longest wait for a connection; raising it keeps a run longer on a dead endpoint."""

    read_timeout: Duration = Field(default=timedelta(seconds=10), gt=timedelta(0))
    """Longest wait for an answer; raising it needs a longer queue.lease, lowering it loses more answers."""

    connections: int = Field(default=32, ge=1)
    """Connections kept open for reuse in each region; raising it costs memory, with too few tasks wait."""

    patience: Duration = Field(default=timedelta(milliseconds=200), ge=timedelta(0))
    """Longest sleep of a call for its token; above it the task gives its thread back. Raising it idles threads."""

    limits_for: Duration = Field(default=timedelta(hours=1), ge=timedelta(0))
    """How long the account's limits are remembered; raising it delays the use of a limit that AWS has raised."""

    rates: RatesSettings = RatesSettings()

    @property
    def call_timeout(self) -> timedelta:
        """The longest time from the start of a call to its end: a lease must outlast it."""
        return self.connect_timeout + self.read_timeout
