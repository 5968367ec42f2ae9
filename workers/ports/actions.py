"""Does the steps that the domain decides on; each notes in the observation what it has changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import assert_never

import structlog

from berthmaster.errors import TerminalError, TransientError
from domain.ports.entry import Entry, EntryState
from domain.ports.steps import (
    Action,
    Allocate,
    AllocateSamePort,
    CheckHealth,
    CloudStep,
    Confirm,
    Disable,
    Inherit,
    LeaveWaitingList,
    LedgerStep,
    Provision,
    Relabel,
    Release,
    Retain,
    Rollback,
)
from domain.ports.target import address_of
from workers.cloud.priority import Priority
from workers.port_services import PortServices
from workers.ports.allocate import allocate, rollback
from workers.ports.allocate_same_port import SamePortAllocation
from workers.ports.listeners.comparison import compare_if_refused
from workers.ports.listeners.strategy import listeners_of
from workers.ports.listeners.targets import deregister_others
from workers.ports.observe import PodObservation
from workers.ports.records import record, record_and_log
from workers.ports.status import publish, show_cloud_errors
from workers.ports.tenancy import admits

log = structlog.get_logger()


def act(services: PortServices, observation: PodObservation, step: Action) -> None:
    """Do one step. A step without a case below is a type error."""
    if isinstance(step, LedgerStep):
        _act_in_ledger(services, observation, step)
    elif isinstance(step, CloudStep):
        _act_in_cloud(services, observation, step)
    else:
        publish(services, observation, step.outputs)


def _act_in_ledger(services: PortServices, observation: PodObservation, step: LedgerStep) -> None:
    match step:
        case Allocate():
            allocate(services, observation, step)
        case AllocateSamePort():
            SamePortAllocation(services, observation).allocate(step)
        case Rollback(entry=entry):
            rollback(services, observation, entry)
        case Inherit(entries=entries):
            inherit(services, observation, entries)
        case LeaveWaitingList(pool=pool):
            leave_waiting_list(services, observation, pool)
        case Confirm(entries=entries):
            record_and_log(observation, entries)  # a fenced script of this run, later than its read of the pod
        case _:
            assert_never(step)


def _act_in_cloud(services: PortServices, observation: PodObservation, step: CloudStep) -> None:
    match step:
        case Provision(entry=entry, target=target):
            provision(services, observation, entry, target)
        case Disable(entry=entry):
            listeners_of(services, observation, entry.pool).disable(entry)
        case CheckHealth(entry=entry):
            check_health(services, observation, entry)
        case Retain(entry=entry):
            retain(services, observation, entry)
        case Relabel(entries=entries, retain=seconds):
            relabel(services, observation, entries, seconds)
        case Release(entry=entry):
            release(services, observation, entry)
        case _:
            assert_never(step)


def provision(services: PortServices, observation: PodObservation, entry: Entry, target: str) -> None:
    """Make the cloud carry the port, or show on the pod why it cannot."""
    with show_cloud_errors(services, observation):
        listeners_of(services, observation, entry.pool).provision(entry, target)


def check_health(services: PortServices, observation: PodObservation, entry: Entry) -> None:
    """Read the health of the entry's target.

    AWS tells it of one target group a call, so these calls come after those that bind ports.
    """
    region = observation.config(entry.pool).spec.region
    with show_cloud_errors(services, observation):
        targets = services.driver_for(observation.run, region, Priority.UNBIND).targets(entry.target_group)
    health = (target.health for target in targets if (target.ip, target.port) == address_of(entry.target))
    observation.health[entry.id] = next(health, "unregistered")


def retain(services: PortServices, observation: PodObservation, entry: Entry) -> None:
    """Deregister every target of the pod that is gone, and keep port and listener for the next pod of its name."""
    region, run = observation.config(entry.pool).spec.region, observation.access(entry.pool)
    driver = services.driver_for(observation.run, region, Priority.UNBIND)
    with retried(entry):
        located = listeners_of(services, observation, entry.pool).locate(entry)
        with compare_if_refused(services, located, lambda: run.confirm(located)):
            if located.target_group:
                deregister_others(driver, located.target_group, "")
            until = run.retain(located)
    observation.entries[entry.id] = replace(located, state=EntryState.RETAINED, target="", until=until, tried=())
    observation.to_compare.discard(entry.id)
    place = {"pool": entry.pool, "port": entry.port, "lb": entry.lb}
    log.info("port_retained", pod=observation.full_name, seconds=entry.retain, **place)


def inherit(services: PortServices, observation: PodObservation, entries: tuple[Entry, ...]) -> None:
    """Take entries over from a pod that is gone, unless the pool does not select the namespace any more."""
    pod, pool = observation.pod, entries[0].pool
    assert pod
    if not admits(services, observation, pool):
        return
    observation.access(pool).inherit(pod.uid, entries)
    for entry in entries:
        observation.entries[entry.id] = replace(
            entry, uid=pod.uid, state=EntryState.RETAINED, target="", until=0, tried=()
        )
        place = {"pool": pool, "port": entry.port, "lb": entry.lb}
        log.info("port_inherited", pod=observation.full_name, was=entry.uid, **place)


def relabel(services: PortServices, observation: PodObservation, entries: tuple[Entry, ...], seconds: int) -> None:
    """Tag, then record, for how long the entries are to be retained.

    Were the record first, a run that dies would leave a promise that a rebuild does not know.
    """
    with show_cloud_errors(services, observation):
        labelled = [replace(entry, retain=seconds) for entry in entries]
        record(observation, listeners_of(services, observation, entries[0].pool).relabel(labelled))


def release(services: PortServices, observation: PodObservation, entry: Entry) -> None:
    """Remove from the cloud what serves the entry, then free its port.

    Any error leaves the entry releasing, so that nobody gets the port while the cloud may still have something on it.
    """
    with retried(entry):
        woken = listeners_of(services, observation, entry.pool).release(entry)
    observation.drop(entry.id)
    services.wake_pods(woken)
    place = {"pool": entry.pool, "port": entry.port, "lb": entry.lb}
    log.info("port_released", pod=observation.full_name, **place)


def leave_waiting_list(services: PortServices, observation: PodObservation, pool: str) -> None:
    """Take the pod off a waiting list, and wake those that fit now."""
    access = observation.pools.get(pool)
    if access and access.run:
        services.wake_pods(access.run.leave())
    observation.waiting.discard(pool)


@contextmanager
def retried(entry: Entry) -> Iterator[None]:
    """Turn a terminal error into a transient one: nothing that a person changes would wake the run of a gone pod."""
    try:
        yield
    except TerminalError as error:
        raise TransientError(f"port {entry.port} of {entry.lb} cannot be given back: {error}") from error
