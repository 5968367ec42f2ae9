"""Who may take ports of a pool, as a run of a pod meets it: the labels of its namespace, and the namespace's share."""

from __future__ import annotations

import structlog

from domain.port_pools.namespaces import NamespaceSelector
from events.kube.api import Denied
from workers.port_services import PortServices
from workers.ports.observe import PodObservation
from workers.run import Run
from workers.stores.ports.ledger import Capped

log = structlog.get_logger()


def admits(services: PortServices, observation: PodObservation, pool: str) -> bool:
    """Whether pods of the namespace may take ports of the pool; what they hold they keep."""
    selector = observation.config(pool).spec.allowed_namespaces
    why_not = selector and refusal(services, observation.run, selector, observation.namespace)
    if why_not:
        observation.barred[pool] = f"PortPool {pool} is not for namespace {observation.namespace}, {why_not}"
    return not why_not


def refusal(services: PortServices, run: Run, selector: NamespaceSelector, namespace: str) -> str | None:
    """Why the namespace may take no ports, None when it may."""
    run.keep(services.call_time)
    try:
        return None if selector.admits(services.namespaces.labels(namespace)) else "by its labels"
    except Denied:
        return "whose labels may not be read (RBAC: get namespaces)"


def note_cap(observation: PodObservation, pool: str, answer: Capped, ports: int) -> None:
    """The namespace has its share: nothing is waited for that would make the pool grow."""
    if pool not in observation.waiting:
        log.info(
            "allocation_capped", pod=observation.full_name, pool=pool, most=answer.most, used=answer.used, ports=ports
        )
    observation.waiting.add(pool)
    observation.full.add(pool)
    observation.refusal = (
        f"namespace {observation.namespace} holds or waits for {answer.used} of the {answer.most} ports"
        f" that pool {pool} gives a namespace, and {ports} more are asked for"
    )
