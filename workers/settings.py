"""Settings of workers, beat and command line: `BERTHMASTER_*` variables, nested by a double underscore.

`BERTHMASTER_QUEUE__LEASE=20s` sets `queue.lease`. Lengths of time are seconds, or a number with ms, s, m, h or d.
Nothing is read at import: whoever needs settings makes a `WorkerSettings()`.
"""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, model_validator
from pydantic_settings import SettingsConfigDict

from berthmaster import routing
from berthmaster.duration import Duration
from berthmaster.redis.address import checked_if_named
from berthmaster.redis.settings import LOOK_LASTS, BrokerSettings, ClusterName, Nested, StateSettings
from domain.backoff import RetryPolicy
from domain.ports.request import parse_ports
from domain.ports.retain_annotation import MAX_RETENTION
from events.setting_names import refuse_mistyped
from events.settings import KubernetesSettings, StreamSettings, TracingSettings
from events.workqueue import AHEAD
from workers.cloud.providers import ProviderSettings

CLIENTS_RETRY_FOR: Final = timedelta(minutes=10)
"""A refused slots.submit is tried 20 times, at most 30 s apart; a broker delivers again what nobody acknowledged."""


class RetrySettings(Nested):
    """How long a failed key waits for its next attempt."""

    first: Duration = Field(default=timedelta(seconds=1), gt=timedelta(0))
    """Wait after the first failure, doubled by each further one; raising it delays the repair of short faults."""

    longest: Duration = Field(default=timedelta(minutes=5), gt=timedelta(0))
    """Longest wait; raising it delays the first success after a long fault."""

    jitter: float = Field(default=0.5, ge=0, le=1)
    """Share of each wait that is left to chance; lowering it lets keys that failed together come back together."""

    def policy(self) -> RetryPolicy:
        """Return these settings as the policy that the workqueue uses."""
        return RetryPolicy(self.first, self.longest, self.jitter)


class QueueSettings(Nested):
    """The workqueue: leases, sweeps and attempts."""

    lease: Duration = Field(default=timedelta(seconds=30), gt=timedelta(0))
    """How long a key belongs to a run, above the longest call; raising it delays the run after a worker died."""

    sweep_limit: int = Field(default=1000, ge=1)
    """Most keys that one tick wakes; raising it blocks Redis longer."""

    drain_keys: int = Field(default=50, ge=1)
    """Most keys that one message serves; raising it saves messages, and delays other messages."""

    drain_time: Duration = Field(default=timedelta(seconds=1), gt=timedelta(0))
    """How long one message serves keys; raising it delays ticks, and the end of a worker of processes."""

    hints_ahead: int = Field(default=AHEAD, ge=1, le=1000)
    """Hints that may wait for a thread; raising it to the number of worker processes lets bursts begin faster."""

    hint_lost_after: Duration = Field(default=timedelta(seconds=5), gt=timedelta(0))
    """Age at which a hint that nobody took counts as lost; raising it delays keys whose message the broker lost."""

    retry: RetrySettings = RetrySettings()


def readable(spec: str) -> str:
    """The same, if it is one. Raises ValueError, which names the entry."""
    if spec.strip():
        parse_ports(spec)
    return spec


class PortsSettings(Nested):
    """Port pools and what they own in AWS."""

    default_spec: Annotated[str, AfterValidator(readable)] = ""
    """What an empty `berthmaster.dev/ports` stands for, for example `7777/UDP@arena`; empty means an error."""

    retain_for: Duration = Field(default=timedelta(hours=24), ge=timedelta(0), le=MAX_RETENTION)
    """What `berthmaster.dev/ports-retain: "true"` means; raising it keeps ports of pods that are gone from others."""

    sweep_every: Duration = Field(default=timedelta(seconds=10), gt=timedelta(0))
    """Period of the look at waiting pods; raising it delays pods whose wake-up was lost."""

    audit_every: Duration = Field(default=timedelta(minutes=1), gt=timedelta(0))
    """Period of the comparison with AWS; raising it leaves orphans longer, lowering it costs describe calls."""

    orphan_grace: Duration = Field(default=timedelta(minutes=5), ge=timedelta(0))
    """Age below which a leftover (listener, target group, target) is left alone; raising it leaves real ones longer."""

    audit_targets: int = Field(default=50, ge=0)
    """Target groups of a pool whose targets an audit compares, in turn; raising it costs a describe call each."""

    waiting_recheck: Duration = Field(default=timedelta(minutes=5), gt=timedelta(0))
    """How often a pod without a port looks again unasked; raising it lengthens the worst wait after a lost wake-up."""

    scale_up_lease: Duration = Field(default=timedelta(minutes=2), gt=timedelta(0))
    """How long one scale-up keeps others of its epoch away; raising it delays the heir of a worker that died."""


class SlotsSettings(Nested):
    """Pod pools, their slots and jobs."""

    autoscale_every: Duration = Field(default=timedelta(seconds=15), gt=timedelta(0))
    """Period of the autoscaler; a job without a slot makes its pool grow at once, so raising it delays shrinking."""

    sweep_every: Duration = Field(default=timedelta(seconds=5), gt=timedelta(0))
    """Period of the look at deadlines and lost messages; raising it delays them by as much."""

    silence: Duration = Field(default=timedelta(minutes=2), gt=timedelta(0))
    """Age of a runner's last report at which its pod is removed; raising it delays the jobs of a dead runner."""

    remember: Duration = Field(default=timedelta(hours=24), gt=timedelta(0))
    """How long an ended job is known; it must outlast the retries of clients, raising it costs memory."""

    list_every: Duration = Field(default=timedelta(minutes=1), ge=timedelta(0))
    """Period after which a worker lists a pool's pods anew; lowering it costs lists, and 0 lists in each run."""

    pod_writes: int = Field(default=8, ge=1, le=64)
    """Pods that a run of a pool writes at a time; raising it costs connections, and requests a second at the API."""

    runner_redis_url: Annotated[str, AfterValidator(checked_if_named)] = ""
    """Address of Redis as runner pods reach it, user and password left out; empty means the workers' own."""


class ClaimsSettings(Nested):
    """Claims on warm pods."""

    missing_grace: Duration = Field(default=timedelta(seconds=10), ge=timedelta(0))
    """How long a claim's pod may be missing before it is Lost; raising it delays its next pod."""

    retry: Duration = Field(default=timedelta(seconds=5), gt=timedelta(0))
    """First wait of a claim that finds no pod, doubled each time; raising it delays claims whose wake-up was lost."""

    retry_longest: Duration = Field(default=timedelta(minutes=1), gt=timedelta(0))
    """Longest such wait; lowering it costs a look for pods by each claim that waits."""


class CelerySettings(Nested):
    """The worker process and its transport."""

    pool: Literal["threads", "prefork", "solo"] = "threads"
    """Tasks wait for AWS and Kubernetes: threads do what processes do, at a tenth of the memory."""

    concurrency: int = Field(default=20, ge=1)
    """Tasks at a time in a process; raising it costs connections; beyond about 100 the main loop is the limit."""

    visibility_timeout: Duration = Field(default=timedelta(minutes=2), ge=timedelta(seconds=1))
    """After this a message that was not acknowledged is delivered again; keep it above queue.drain_time and the longest
    run. Raising it delays what a dead worker had."""

    restore_every: Duration = Field(default=timedelta(seconds=5), gt=timedelta(0))
    """Period of the look for such messages; raising it adds to the visibility timeout."""

    health_check_every: Duration = Field(default=timedelta(seconds=10), ge=timedelta(seconds=1))
    """Silence after which a connection is checked; raising it lengthens the deafness after a half-open connection."""

    task_events: bool = False
    """Sends task events, also while no Flower asks for them; costs 15-40 % of the throughput of short tasks."""

    tick_events: bool = False
    """Sends task events of periodic ticks, too; costs nine tenths of the room for tasks that Flower remembers."""

    heartbeat_file: Path = Path(tempfile.gettempdir()) / "berthmaster-worker.heartbeat"
    """Written while the worker consumes, read by `berthmaster healthcheck worker`; one a process, beat's beside it."""

    stuck_after: Duration = Field(default=timedelta(minutes=5), gt=timedelta(0))
    """Age of a running task or held message at which the worker counts as stuck; raising it hides a deadlock longer."""


class MetricsSettings(Nested):
    """The Prometheus endpoint of each worker process."""

    port: int = Field(default=0, ge=0, le=65535)
    """Port to listen on; 0 means none. Two workers on one machine need two ports."""

    address: str = "0.0.0.0"  # noqa: S104 - it is scraped from outside the pod
    """Address to listen on; restrict it where the network is not trusted."""


class FlowerSettings(Nested):
    """The pages of `berthmaster flower`."""

    home: bool = True
    """`/` leads to the page of the fleet; false leaves it to Flower's own page of workers."""

    deciders: str = "*"
    """Names of the people who may confirm, cancel and stop, separated by commas: users of basic authentication, or
    addresses that an OAuth provider has checked. `*` is everybody who has logged in, and nobody may without a name."""

    @property
    def names(self) -> frozenset[str]:
        """The names."""
        return frozenset(name.strip() for name in self.deciders.split(",") if name.strip())


class LogSettings(Nested):
    """What is logged, and how."""

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """Least severe level that is logged; DEBUG costs a line a refused hint."""

    format: Literal["auto", "json", "console"] = "auto"
    """`auto` is console on a terminal and JSON elsewhere."""


class WorkerSettings(ProviderSettings):
    """All of it. Only the name of the cluster has no default."""

    model_config = SettingsConfigDict(
        env_prefix="BERTHMASTER_",
        env_nested_delimiter="__",
        frozen=True,
        use_attribute_docstrings=True,
        extra="ignore",
        hide_input_in_errors=True,  # passwords are in addresses
    )

    cluster: ClusterName
    """Name in AWS tags; without a default, because two clusters of one name would delete each other's ports."""

    redis: StateSettings = StateSettings()
    broker: BrokerSettings = BrokerSettings()
    kubernetes: KubernetesSettings = KubernetesSettings()
    queue: QueueSettings = QueueSettings()
    stream: StreamSettings = StreamSettings()
    ports: PortsSettings = PortsSettings()
    slots: SlotsSettings = SlotsSettings()
    claims: ClaimsSettings = ClaimsSettings()
    celery: CelerySettings = CelerySettings()
    metrics: MetricsSettings = MetricsSettings()
    flower: FlowerSettings = FlowerSettings()
    log: LogSettings = LogSettings()
    tracing: TracingSettings = TracingSettings()

    @property
    def broker_url(self) -> str:
        """URL of the broker: its own setting, or the Redis of the state."""
        return self.broker.url or self.redis.url

    @property
    def broker_is_state(self) -> bool:
        """Then scripts send hints themselves, in the step that makes a key dirty."""
        return self.broker_url == self.redis.url

    @property
    def tick_periods(self) -> dict[str, timedelta]:
        """How often beat sends each of its tasks."""
        return {
            routing.QUEUE_TICK: timedelta(seconds=1),
            routing.PORTS_SWEEP: self.ports.sweep_every,
            routing.PORTS_AUDIT: self.ports.audit_every,
            routing.SLOTS_SWEEP: self.slots.sweep_every,
            routing.PODPOOLS_AUTOSCALE: self.slots.autoscale_every,
        }

    @property
    def call_time(self) -> timedelta:
        """The longest that one call of AWS or Kubernetes takes: a lease must outlast it."""
        return max(self.cloud_call_timeout, 2 * self.kubernetes.request_timeout)  # to connect, and for the answer

    @model_validator(mode="before")
    @classmethod
    def _mistyped(cls, values: Any) -> Any:
        refuse_mistyped(cls)
        return values

    @model_validator(mode="after")
    def _lease_outlasts_a_call(self) -> WorkerSettings:
        if self.queue.lease <= self.call_time:
            raise ValueError(f"queue.lease must be longer than one call of AWS or Kubernetes ({self.call_time})")
        return self

    @model_validator(mode="after")
    def _messages_outlast_drains(self) -> WorkerSettings:
        least = self.queue.drain_time + self.call_time  # the last run of a drain begins before its time is over
        if self.celery.visibility_timeout < least:
            raise ValueError(
                f"celery.visibility_timeout must be at least queue.drain_time and one call of AWS or Kubernetes "
                f"({least}): the broker would deliver a hint again while its drain goes on; raise it, or lower "
                "queue.drain_time"
            )
        return self

    @model_validator(mode="after")
    def _ends_outlast_what_comes_again(self) -> WorkerSettings:
        least = self.celery.visibility_timeout + LOOK_LASTS + self.celery.restore_every + CLIENTS_RETRY_FOR
        if self.slots.remember < least:
            raise ValueError(
                f"slots.remember must be at least {least}: a job that is said again until then would run again"
            )
        return self
