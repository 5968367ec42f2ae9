"""PodPool: pods of one template, for jobs in their slots or for claims that take them whole; it sizes itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, model_validator

from berthmaster.forms import A_NAME, A_SHORT_NAME, form
from berthmaster.jobs.job import PoolLimits
from berthmaster.names import SUBDOMAIN
from berthmaster.spec import Length, Spec, broken_rules, each_once, length
from domain.claims.additions import ALLOWED
from domain.claims.draining import DrainWait
from domain.kubernetes.objects import KubeObject
from domain.pod_pools.pod_pool_rules import RULES
from domain.pod_pools.schedules import PoolSchedule, ScheduleView, schedules_at
from domain.pod_pools.signals import Accepts, ScalingPolicy

OPEN: Final[dict[str, JsonValue]] = {"x-kubernetes-preserve-unknown-fields": True}
PASSWORD_VARIABLE: Final = "BERTHMASTER_RUNNER__REDIS__PASSWORD"  # noqa: S105 - the name of a variable
Kind = Annotated[str, Field(pattern=form("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$", A_SHORT_NAME))]


class Slot(Spec):
    """Takes one job at a time."""

    accepts: Annotated[
        tuple[Kind, ...],
        Field(
            max_length=20,
            description="kinds of phases that it takes, any if empty; one slot takes all phases of a job",
            json_schema_extra={"x-kubernetes-list-type": "set"},
        ),
        AfterValidator(each_once),
    ] = ()


class ScalingSpec(Spec):
    """When the pool grows and shrinks. Shares are 0 without slots."""

    up_above: Annotated[
        float,
        Field(
            gt=0,
            le=1,
            description="share of slots that run jobs, of those of open and booting pods that are not reserved, above "
            "which pods are added",
        ),
    ] = 0.8
    down_below: Annotated[
        float,
        Field(
            ge=0,
            lt=1,
            description="share of slots that run jobs or are reserved, of those of open pods, below which idle pods "
            "are removed; at 0 none is",
        ),
    ] = 0.2
    step: Annotated[int, Field(ge=1, le=100, description="pods that one decision adds for jobs, or removes")] = 1
    up_cooldown: Annotated[
        Length, Field(description="pause after a pod was added, before use or jobs add another; claims ignore it")
    ] = "30s"
    down_cooldown: Annotated[Length, Field(description="pause after any change before a pod is removed")] = "5m"
    hold_while_busy: Annotated[
        bool, Field(description="removes no pod while any slot of an open pod runs a job or is reserved")
    ] = False


def _names_each_once(schedules: Iterable[PoolSchedule]) -> tuple[PoolSchedule, ...]:
    listed = tuple(schedules)
    each_once(schedule.name for schedule in listed)
    return listed


AllowedKey = Annotated[str, Field(pattern=ALLOWED, max_length=317)]


class ClaimsSpec(Spec):
    """What claims may add to the pool's pods: keys, or `example.com/*` for every key under example.com."""

    allowed_pod_labels: Annotated[
        tuple[AllowedKey, ...], Field(max_length=50, description="labels that claims may add; none, if empty")
    ] = ()
    allowed_pod_annotations: Annotated[
        tuple[AllowedKey, ...], Field(max_length=50, description="annotations that claims may add; none, if empty")
    ] = ()


class RunnerToken(Spec):
    """The Redis user of the pool's runners, which reaches the keys of this pool only."""

    secret_name: Annotated[
        str,
        Field(
            max_length=253,
            pattern=form(f"^({SUBDOMAIN})?$", f"{A_NAME}, or empty"),
            description="Secret that is written; it must not exist before. Empty: POOL-runner-token",
        ),
    ] = ""
    rotate_after: Annotated[Length, Field(description="age at which it is replaced, while no slot is in use")] = "24h"

    def secret_of(self, pool: str) -> str:
        """The name of the pool's Secret."""
        return self.secret_name or f"{pool}-runner-token"


def template_problem(template: dict[str, Any]) -> str | None:
    """Which part of a template is not of the type that we read, None for none. The API server checks the rest."""
    meta, spec = KubeObject(template).metadata, KubeObject(template).spec
    if not isinstance(meta, dict):
        return "template.metadata is not an object"
    if not isinstance(spec, dict):
        return "template.spec is not an object"
    if not all(isinstance(meta.get(name) or {}, dict) for name in ("labels", "annotations")):
        return "template.metadata: labels or annotations are not an object"
    containers = spec.get("containers") or []
    if not isinstance(containers, list) or not all(isinstance(container, dict) for container in containers):
        return "template.spec.containers is not a list of objects"
    variables = [container.get("env") or [] for container in containers]
    whole = all(isinstance(env, list) and all(isinstance(variable, dict) for variable in env) for env in variables)
    return None if whole else "template.spec.containers: an env is not a list of objects"


class PodPoolSpec(Spec):
    """Pods of one template that run jobs in slots, or are taken whole by claims."""

    template: Annotated[dict[str, Any], Field(description="PodTemplateSpec of its pods", json_schema_extra=OPEN)]
    min_replicas: Annotated[int, Field(ge=0, le=5000, description="fewest pods beside those that claims have")] = 0
    max_replicas: Annotated[
        int, Field(ge=1, le=5000, description="most pods, claimed, cordoned and draining ones included")
    ] = 10
    max_idle: Annotated[
        int, Field(ge=0, le=5000, description="pods kept warm for claims: ready, and without a job")
    ] = 0
    slots: Annotated[
        tuple[Slot, ...], Field(max_length=50, description="slots of each pod, none for pods that only claims take")
    ] = (
        Slot(),
        Slot(accepts=("plan",)),
        Slot(accepts=("plan",)),
    )
    scaling: ScalingSpec = ScalingSpec()
    schedules: Annotated[
        tuple[PoolSchedule, ...],
        Field(
            max_length=20,
            description="when the pool has more pods, or is frozen; of several in effect the highest numbers count",
            json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        ),
        AfterValidator(_names_each_once),
    ] = ()
    reservation_ttl: Annotated[
        Length, Field(alias="reservationTTL", description="how long a job's slot is kept for a person's decision")
    ] = "24h"
    queue_timeout: Annotated[
        Length | None,
        Field(
            description="how long a job waits for its first start before it ends, 1s to 8760h, unless the job says it; "
            "for any time, if empty"
        ),
    ] = None
    run_timeout: Annotated[
        Length | None,
        Field(
            description="how long an attempt runs before its runner is asked to stop it, 1s to 8760h, unless the job "
            "says it; for any time, if empty"
        ),
    ] = None
    drain_timeout: Annotated[
        Length, Field(description="longest wait for the sessions of a pod that a claim gave back")
    ] = "5m"
    min_drain: Annotated[Length, Field(description="shortest drain: sessions that were just opened are counted")] = (
        "15s"
    )
    recycle: Annotated[
        Literal["reuse", "delete"], Field(description="what becomes of a pod that a claim gave back")
    ] = "reuse"
    protect_while_busy: Annotated[
        bool,
        Field(
            description="a pod that runs a job, has a reserved slot or a claim is protected from evictions, so that "
            "node drains and autoscalers wait for its work"
        ),
    ] = True
    ready_timeout: Annotated[
        Length,
        Field(description="time after which a pod is replaced that never reported or is not ready, and runs nothing"),
    ] = "10m"
    runner_token: RunnerToken = RunnerToken()
    claims: ClaimsSpec = ClaimsSpec()

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        if problem := template_problem(self.template):
            raise ValueError(problem)
        if not (self.template.get("spec") or {}).get("containers"):
            raise ValueError("template.spec.containers is empty: a pod needs at least one")
        if messages := broken_rules(RULES, self):
            raise ValueError("; ".join(messages))
        return self

    @property
    def limits(self) -> PoolLimits:
        """The limits of jobs that have none of their own."""
        queue, run = (length(text) if text else None for text in (self.queue_timeout, self.run_timeout))
        return PoolLimits(length(self.reservation_ttl), queue, run)

    @property
    def token(self) -> RunnerToken | None:
        """The runners' token. None without slots, or if the template names a Redis password of its own."""
        containers = (self.template.get("spec") or {}).get("containers") or ()
        names = {variable.get("name") for container in containers for variable in container.get("env") or ()}
        return self.runner_token if self.slots and PASSWORD_VARIABLE not in names else None

    @property
    def layout(self) -> tuple[Accepts, ...]:
        """What each slot of a pod accepts."""
        return tuple(frozenset(slot.accepts) or None for slot in self.slots)

    @property
    def policy(self) -> ScalingPolicy:
        """The policy of the autoscaler."""
        return ScalingPolicy(
            slots=self.layout,
            min_pods=self.min_replicas,
            max_pods=self.max_replicas,
            max_idle=self.max_idle,
            up_above=self.scaling.up_above,
            down_below=self.scaling.down_below,
            step=self.scaling.step,
            up_cooldown=length(self.scaling.up_cooldown),
            down_cooldown=length(self.scaling.down_cooldown),
            hold_while_busy=self.scaling.hold_while_busy,
        )

    def schedules_at(self, now: datetime) -> ScheduleView:
        """The schedules of the pool at a time."""
        return schedules_at(self.schedules, now)

    def policy_under(self, schedules: ScheduleView) -> ScalingPolicy:
        """The policy of the autoscaler while these schedules are in effect. maxReplicas limits what they ask for."""
        most = self.max_replicas
        return replace(
            self.policy,
            min_pods=max(self.min_replicas, min(schedules.min_replicas, most)),
            max_idle=max(self.max_idle, min(schedules.max_idle, most)),
            frozen=schedules.frozen,
            schedules=schedules.reasons,
        )

    @property
    def rest(self) -> timedelta | None:
        """How long a pod without work stays protected: as long as the pool itself keeps it. None: none is protected."""
        return length(self.scaling.down_cooldown) if self.protect_while_busy else None

    @property
    def drain_wait(self) -> DrainWait:
        """The shortest and the longest drain."""
        return DrainWait(length(self.min_drain), length(self.drain_timeout))
