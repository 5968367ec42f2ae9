"""The settings that publisher and workers read: where Redis, the broker and the Kubernetes API are.

The settings are in `events` because workers may import from `events`, and never the other way round. Field docs say
what a value means and what raising it costs.
"""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from berthmaster.duration import Duration
from berthmaster.forms import fault_in_words
from berthmaster.redis.settings import BrokerSettings, ClusterName, Nested, StateSettings
from events.setting_names import refuse_mistyped

STALLS_BEFORE_LIST: Final = 2
"""Stalled streams in a row after which a list is requested, which proves that the server answers at all."""


class KubernetesSettings(Nested):
    """How to reach the Kubernetes API; with nothing set, the usual kubeconfig, else the pod's service account."""

    kubeconfig: Path | None = None
    """Path of a kubeconfig; None means the usual places, then the service account of the pod."""

    context: str | None = None
    """Context of the kubeconfig; None means its current one."""

    server: str | None = None
    """URL of the API server; set, it replaces kubeconfig and service account altogether."""

    token: SecretStr | None = None
    """Bearer token sent to `server`; None sends no credentials."""

    ca_file: Path | None = None
    """Certificates (PEM) that `server` is verified with; None means those of the system."""

    request_timeout: Duration = Field(default=timedelta(seconds=10), gt=timedelta(0))
    """Longest wait for an answer, connecting included; raising it keeps workers busy longer when the API hangs."""

    connections: int = Field(default=32, ge=1)
    """Connections kept open for reuse; raising it costs memory here and on the API server."""


class LeaseSettings(Nested):
    """The Kubernetes Lease that makes one publisher the active one."""

    namespace: str = "default"
    """Namespace of the Lease; all publishers of one cluster name must agree on it."""

    name: str = "berthmaster-publisher"
    """Name of the Lease."""

    duration: Duration = Field(default=timedelta(seconds=15), ge=timedelta(seconds=1))
    """How long a silent holder is waited for; raising it delays the take-over after a crash. Whole seconds."""

    renew_deadline: Duration = Field(default=timedelta(seconds=10), gt=timedelta(0))
    """A holder that could not renew for this long stops publishing; below `duration`, and near it for robustness."""

    retry_every: Duration = Field(default=timedelta(seconds=2), gt=timedelta(0))
    """Period of renewing and of looking; raising it delays the take-over after an orderly stop."""

    @model_validator(mode="after")
    def in_order(self) -> Self:
        """Refuse durations in the wrong order."""
        if not self.retry_every < self.renew_deadline < self.duration:
            raise ValueError("must be in this order: retry_every < renew_deadline < duration")
        return self


class WatchSettings(Nested):
    """Lists and watch streams."""

    page_size: int = Field(default=500, ge=1)
    """Objects a page of a list; raising it needs more memory at once, lowering it more requests."""

    stream_length: Duration = Field(default=timedelta(minutes=4), gt=timedelta(0))
    """How long the server is asked to keep one stream open; raising it keeps streams longer on an overloaded server."""

    inactivity_timeout: Duration = Field(default=timedelta(seconds=90), gt=timedelta(0))
    """Silence after which a stream counts as stalled (bookmarks come once a minute); raising it delays the repair."""

    steady_after: Duration = Field(default=timedelta(seconds=5), ge=timedelta(0))
    """A stream that lasted this long ends a row of failures; raising it slows the reopening of short streams."""

    dead_after: Duration = Field(default=timedelta(minutes=5), gt=timedelta(0))
    """Time without any sign of life after which the process reports itself dead; above twice `inactivity_timeout`."""

    resync_every: Duration = Field(default=timedelta(minutes=10), gt=timedelta(0))
    """Period of a full list that repairs what streams left out; raising it delays that, lowering it loads the API."""

    absent_retry: Duration = Field(default=timedelta(seconds=3), gt=timedelta(0))
    """How often a kind that the server lacks is asked for again."""

    backoff_first: Duration = Field(default=timedelta(milliseconds=500), gt=timedelta(0))
    """Wait after the first failure in a row, doubled by each further one."""

    backoff_longest: Duration = Field(default=timedelta(seconds=30), gt=timedelta(0))
    """Longest wait between two requests; raising it delays recovery after a long outage."""

    @model_validator(mode="after")
    def dead_last(self) -> Self:
        """Refuse a `dead_after` below the time of the stalls before a list."""
        if self.dead_after < STALLS_BEFORE_LIST * self.inactivity_timeout:
            raise ValueError(f"dead_after must be {STALLS_BEFORE_LIST} * inactivity_timeout at least")
        return self


class StreamSettings(Nested):
    """The stream `berthmaster:events`, which other services may follow. Publisher and workers write it."""

    length: int = Field(default=100_000, ge=0)
    """Entries kept; 0 writes none. The same for publisher and workers; raising it costs Redis about 0.5 kB each."""

    size: int = Field(default=64 * 2**20, ge=2**20)
    """Bytes of Redis's memory that they may take; above that the oldest go first, each `publisher.probe_every`."""

    entry_size: int = Field(default=64 * 2**10, ge=2**10)
    """Bytes of the largest snapshot in an entry; above that the entry says its size only (`omitted`)."""


class PublisherSettings(Nested):
    """What the publisher follows and where it tells of it."""

    namespace: str = ""
    """Follow one namespace only; '' means all. Narrowing it later releases the ports of pods outside."""

    pod_selector: str = ""
    """Label selector of pods; '' means all. A pod that loses the label counts as gone."""

    failures: bool = True
    """Whether Kubernetes Events `AllocationFailed` of other controllers are followed; costs one more stream."""

    probe_every: Duration = Field(default=timedelta(seconds=5), gt=timedelta(0))
    """How often lost state in Redis is looked for when nothing else happens; raising it delays the repair."""

    retry_longest: Duration = Field(default=timedelta(seconds=5), gt=timedelta(0))
    """Longest wait between two attempts while Redis does not answer."""

    grace: Duration = Field(default=timedelta(seconds=10), ge=timedelta(0))
    """How long a stop waits for the batch in hand; must fit into the pod's termination grace period."""

    health_host: str = "0.0.0.0"  # noqa: S104 - probes and Prometheus come from other machines
    """Address that /livez, /readyz and /metrics listen on."""

    health_port: int = Field(default=8081, ge=0, le=65535)
    """Their port; 0 picks a free one."""

    lease: LeaseSettings = LeaseSettings()
    watch: WatchSettings = WatchSettings()


class TracingSettings(Nested):
    """Traces from a watch event to the calls of AWS; needs the packages of the extra `tracing`."""

    endpoint: str = ""
    """URL that spans are sent to (OTLP over HTTP, like `http://collector:4318/v1/traces`); empty means no traces."""

    share: float = Field(default=1.0, ge=0, le=1)
    """Share of the traces that is sent; raising it costs the workers and the collector time."""


class ProcessSettings(BaseSettings):
    """All that a publisher process reads: `BERTHMASTER_*` variables, nested by a double underscore."""

    model_config = SettingsConfigDict(
        env_prefix="BERTHMASTER_",
        env_nested_delimiter="__",
        frozen=True,
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
    )

    cluster: ClusterName
    """Name of the fleet, the same as that of its workers: a Redis that belongs to another is refused."""

    redis: StateSettings = StateSettings()
    broker: BrokerSettings = BrokerSettings()
    kubernetes: KubernetesSettings = KubernetesSettings()
    publisher: PublisherSettings = PublisherSettings()
    stream: StreamSettings = StreamSettings()
    tracing: TracingSettings = TracingSettings()

    @model_validator(mode="before")
    @classmethod
    def _mistyped(cls, values: Any) -> Any:
        refuse_mistyped(cls)
        return values


AnySettings = TypeVar("AnySettings", bound=BaseSettings)


class Misconfigured(Exception):  # noqa: N818 - says what is, not what failed
    """A setting is missing or wrong. The message has a line for each variable, without its value."""


def settings_of(kind: type[AnySettings]) -> AnySettings:
    """Return the settings of the environment. Raises Misconfigured."""
    try:
        return kind()
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        raise Misconfigured("\n".join(f"{variable(p['loc'])}: {fault_in_words(p)}" for p in problems)) from None
    except SettingsError as error:
        name = variable(tuple(re.findall(r'field "(\w+)"', str(error))))
        raise Misconfigured(f"{name}: it, or one that begins with {name}__, must be JSON and cannot be read") from None


def variable(location: tuple[int | str, ...]) -> str:
    """Return the environment variable of a setting."""
    return "BERTHMASTER_" + "__".join(str(part) for part in location).upper() if location else "settings"
