"""What `doctor` checks. Each check is a line: what, whether it is well, and what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from events.kube_api import KubeError
from events.settings import RedisSettings
from workers.broker import broker_problem
from workers.cli.configured import Unconfigured, kubernetes
from workers.settings import WorkerSettings
from workers.stores.client import connect_state
from workers.stores.outage import OUTAGE
from workers.stores.server_facts import ServerFacts, server_facts

OLDEST_REDIS = (7, 0)
GROUP = "/apis/berthmaster.dev/v1alpha1"


class Check(NamedTuple):
    name: str
    ok: bool
    found: str


def examine(settings: WorkerSettings) -> Iterator[Check]:
    """One after the other, so that the first lines are there while a time-out runs."""
    yield from redis_checks(settings.redis)
    if not settings.broker_is_state:
        problem = broker_problem(settings.broker_url)
        yield Check("broker answers", problem is None, problem or "yes")
    yield from kubernetes_checks(settings)


def redis_checks(settings: RedisSettings) -> list[Check]:
    try:
        return judge_server(server_facts(connect_state(settings)))
    except OUTAGE as error:
        return [Check("Redis answers", ok=False, found=str(error))]


def judge_server(facts: ServerFacts) -> list[Check]:
    version = ".".join(map(str, facts.version))
    return [
        Check("Redis is 7.0 or newer", facts.version >= OLDEST_REDIS, version),
        Check(
            "Redis keeps an append-only file",
            facts.append_only,
            "on" if facts.append_only else "off: a crash loses data",
        ),
        Check("Redis evicts nothing", facts.eviction == "noeviction", facts.eviction),
    ]


def kubernetes_checks(settings: WorkerSettings) -> list[Check]:
    try:
        kube = kubernetes(settings)
    except Unconfigured as error:
        return [Check("Kubernetes is configured", ok=False, found=str(error))]
    return [
        asked("Kubernetes answers", lambda: str(kube.get("/version").get("gitVersion", "yes"))),
        asked("Custom resources are installed", lambda: f"{len(kube.get(GROUP)['resources'])} kinds"),
    ]


def asked(name: str, question: Callable[[], str]) -> Check:
    try:
        return Check(name, ok=True, found=question())
    except KubeError as error:
        return Check(name, ok=False, found=str(error))
