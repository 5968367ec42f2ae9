"""Keeping a port for the next pod of its owner's name, and handing it over.

A target group that outlives its pod may hold addresses that no record knows: of a run that died after its call, or of
one that came late. So AWS is asked what is registered, before a port counts as retained and again before its tags name
the new pod. What is listed is dropped by address: a list of targets that grew old must not drop the heir's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import structlog

from berthmaster.errors import TransientError
from domain.ports.entry import Entry, EntryState
from domain.ports.steps import Inherit, Relabel
from domain.ports.target import address_of
from workers.cloud.driver import LoadBalancerApi
from workers.cloud.errors import NotFound
from workers.cloud.priority import Priority
from workers.cloud.tags import RETAIN, port_tags
from workers.port_services import PortServices
from workers.ports.listeners.precreated import promise, refusal_told
from workers.ports.listeners.release import learned, trying_again
from workers.ports.listeners.targets import registered_targets
from workers.ports.observe import PodObservation
from workers.stores.ports.precreated import Stock

log = structlog.get_logger()
NOW = timedelta(0)


def retain(services: PortServices, observation: PodObservation, entry: Entry) -> None:
    """Nothing leads to the pod that is gone; the listener stays."""
    driver = _driver(services, observation, entry, Priority.UNBIND)
    with trying_again(entry):
        known, run = _locate(services, observation, driver, entry), observation.access(entry.pool)
        with refusal_told(services, known, lambda: run.confirm(known)):
            if known.target_group:
                drop_strangers(driver, known.target_group, "")
            until = run.retain(known)
    observation.entries[entry.id] = replace(known, state=EntryState.RETAINED, target="", until=until, tried=())
    observation.to_compare.discard(entry.id)
    log.info(
        "port_retained", pod=observation.full_name, pool=entry.pool, port=entry.port, lb=entry.lb, seconds=entry.retain
    )


def _locate(services: PortServices, observation: PodObservation, driver: LoadBalancerApi, entry: Entry) -> Entry:
    if not _precreated(observation, entry):
        return learned(observation, driver, entry)
    listener, group = Stock(services.ledger(entry.pool)).find(entry.key)
    return replace(entry, listener=listener, target_group=group)


def _precreated(observation: PodObservation, entry: Entry) -> bool:
    return bool(observation.config(entry.pool).spec.precreate.total)


def inherit(observation: PodObservation, step: Inherit) -> None:
    assert observation.pod
    pool = step.entries[0].pool
    observation.access(pool).inherit(observation.pod.uid, step.entries)
    for entry in step.entries:
        mine = replace(entry, uid=observation.pod.uid, state=EntryState.RETAINED, target="", until=0, tried=())
        observation.entries[entry.id] = mine
        log.info("port_inherited", pod=observation.full_name, pool=pool, port=entry.port, lb=entry.lb, was=entry.uid)


def hand_over(
    services: PortServices, observation: PodObservation, driver: LoadBalancerApi, entry: Entry, target: str
) -> None:
    """The listener of an inherited entry and its target group become its pod's: no strangers, then the tags.

    Raises TransientError, to be tried again, when they were deleted by hand.
    """
    try:
        drop_strangers(driver, entry.target_group, target)
        _tag(driver, entry, port_tags(services.cluster, entry, observation.full_name))
    except NotFound as error:
        _record(observation, [_without_cloud(entry)])
        raise TransientError(f"the retained listener on port {entry.port} of {entry.lb} is gone", NOW) from error


def relabel(services: PortServices, observation: PodObservation, step: Relabel) -> None:
    """Tags first: were the record first, a run that dies would leave a promise that a rebuild does not know.

    Only the one tag where a port has tags of its own: a late call must not name a pod that is gone.
    """
    entries = [replace(e, retain=step.retain) for e in step.entries]
    driver = _driver(services, observation, entries[0], Priority.BIND)
    if _precreated(observation, entries[0]):
        for entry in entries:
            promise(driver, entry, observation.full_name)
        return _record(observation, entries)
    try:
        driver.tag([arn for e in entries for arn in (e.listener, e.target_group)], {RETAIN: str(step.retain)})
    except NotFound:
        entries = [_still_there(driver, entry) for entry in entries]
    return _record(observation, entries)


def _still_there(driver: LoadBalancerApi, entry: Entry) -> Entry:
    """Tagged, or without what was deleted by hand, so that it is made again."""
    try:
        _tag(driver, entry, {})
    except NotFound:
        return _without_cloud(entry)
    return entry


def _tag(driver: LoadBalancerApi, entry: Entry, tags: Mapping[str, str]) -> None:
    driver.tag([entry.listener, entry.target_group], {**tags, RETAIN: str(entry.retain)})


def _without_cloud(entry: Entry) -> Entry:
    return replace(entry, listener="", target_group="", target="")


def _record(observation: PodObservation, entries: Sequence[Entry]) -> None:
    observation.access(entries[0].pool).record(entries[0].uid, entries)
    observation.entries |= {e.id: e for e in entries}
    observation.confirmed |= {e.id for e in entries if e.state is EntryState.BOUND}


def _driver(services: PortServices, observation: PodObservation, entry: Entry, priority: Priority) -> LoadBalancerApi:
    region = observation.config(entry.pool).spec.region
    return services.driver(region).on_behalf_of(observation.run.key, priority, observation.run.keep)


def drop_strangers(driver: LoadBalancerApi, target_group: str, target: str) -> None:
    """Deregisters every target but `target` ('' = all)."""
    try:
        strangers = registered_targets(driver, target_group) - {target}
    except NotFound:
        if target:
            raise
        return
    if strangers:
        driver.deregister(target_group, [address_of(text) for text in sorted(strangers)])
