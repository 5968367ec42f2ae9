"""Which namespaces may take ports of a pool, and how many."""

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
    """Whether the pod's namespace may take ports of the pool. It keeps what it holds."""
    selector, namespace = observation.config(pool).spec.allowed_namespaces, observation.namespace
    why_not = selector and refusal(services, observation.run, selector, namespace)
    if why_not:
        observation.barred[pool] = f"PortPool {pool} is not for namespace {namespace}, {why_not}"
    return not why_not


def refusal(services: PortServices, run: Run, selector: NamespaceSelector, namespace: str) -> str | None:
    """Why the namespace may take no ports, None when it may."""
    run.keep(services.call_time)
    return namespace_refusal(services, selector, namespace)


def namespace_refusal(services: PortServices, selector: NamespaceSelector, namespace: str) -> str | None:
    """The same without a run, for those who only look."""
    try:
        return None if selector.admits(services.namespaces.labels(namespace)) else "by its labels"
    except Denied:
        return "whose labels may not be read (RBAC: get namespaces)"


def note_cap(services: PortServices, observation: PodObservation, pool: str, answer: Capped, ports: int) -> None:
    """Note that the namespace has its share: the pod waits for the namespace's room, so the pool need not grow."""
    if answer.failure:
        numbers = {"most": answer.most, "used": answer.used, "ports": ports}
        log.info("allocation_capped", pod=observation.full_name, pool=pool, **numbers)
        services.journal.port_failures(services.ledger(pool), answer.failure)
    observation.waiting.add(pool)
    observation.full.add(pool)
    observation.refusal = (
        f"namespace {observation.namespace} holds or waits for {answer.used} of the {answer.most} ports"
        f" that pool {pool} gives a namespace, and {ports} more are asked for"
    )
