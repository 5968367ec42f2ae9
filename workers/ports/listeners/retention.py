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
from workers.cloud.errors import CloudNotFound
from workers.cloud.priority import Priority
from workers.cloud.tags import RETAIN, port_tags
from workers.port_services import PortServices
from workers.ports.listeners.precreated import promise, refusal_told
from workers.ports.listeners.release import learned, trying_again
from workers.ports.listeners.targets import standing
from workers.ports.observe import World
from workers.stores.ports.precreated import Stock

log = structlog.get_logger()
NOW = timedelta(0)


def retain(services: PortServices, world: World, entry: Entry) -> None:
    """Nothing leads to the pod that is gone; the listener stays."""
    driver = _driver(services, world, entry, Priority.UNBIND)
    with trying_again(entry):
        known, run = _known(services, world, driver, entry), world.access(entry.pool)
        with refusal_told(services, known, lambda: run.confirm(known)):
            if known.target_group:
                drop_strangers(driver, known.target_group, "")
            until = run.retain(known)
    world.entries[entry.id] = replace(known, state=EntryState.RETAINED, target="", until=until, tried=())
    world.due.discard(entry.id)
    log.info("port_retained", pod=world.full_name, pool=entry.pool, port=entry.port, lb=entry.lb, seconds=entry.retain)


def _known(services: PortServices, world: World, driver: LoadBalancerApi, entry: Entry) -> Entry:
    if not _precreated(world, entry):
        return learned(world, driver, entry)
    listener, group = Stock(services.ledger(entry.pool)).find(entry.key)
    return replace(entry, listener=listener, target_group=group)


def _precreated(world: World, entry: Entry) -> bool:
    return bool(world.config(entry.pool).spec.precreate.total)


def inherit(world: World, step: Inherit) -> None:
    assert world.pod
    pool = step.entries[0].pool
    world.access(pool).inherit(world.pod.uid, step.entries)
    for entry in step.entries:
        mine = replace(entry, uid=world.pod.uid, state=EntryState.RETAINED, target="", until=0, tried=())
        world.entries[entry.id] = mine
        log.info("port_inherited", pod=world.full_name, pool=pool, port=entry.port, lb=entry.lb, was=entry.uid)


def hand_over(services: PortServices, world: World, driver: LoadBalancerApi, entry: Entry, target: str) -> None:
    """The listener of an inherited entry and its target group become its pod's: no strangers, then the tags.

    Raises TransientError, to be tried again, when they were deleted by hand.
    """
    try:
        drop_strangers(driver, entry.target_group, target)
        _tag(driver, entry, port_tags(services.cluster, entry, world.full_name))
    except CloudNotFound as error:
        _record(world, [_without_cloud(entry)])
        raise TransientError(f"the retained listener on port {entry.port} of {entry.lb} is gone", NOW) from error


def relabel(services: PortServices, world: World, step: Relabel) -> None:
    """Tags first: were the record first, a run that dies would leave a promise that a rebuild does not know.

    Only the one tag where a port has tags of its own: a late call must not name a pod that is gone.
    """
    entries = [replace(e, retain=step.retain) for e in step.entries]
    driver = _driver(services, world, entries[0], Priority.BIND)
    if _precreated(world, entries[0]):
        for entry in entries:
            promise(driver, entry, world.full_name)
        return _record(world, entries)
    try:
        driver.tag([arn for e in entries for arn in (e.listener, e.target_group)], {RETAIN: str(step.retain)})
    except CloudNotFound:
        entries = [_still_there(driver, entry) for entry in entries]
    return _record(world, entries)


def _still_there(driver: LoadBalancerApi, entry: Entry) -> Entry:
    """Tagged, or without what was deleted by hand, so that it is made again."""
    try:
        _tag(driver, entry, {})
    except CloudNotFound:
        return _without_cloud(entry)
    return entry


def _tag(driver: LoadBalancerApi, entry: Entry, tags: Mapping[str, str]) -> None:
    driver.tag([entry.listener, entry.target_group], {**tags, RETAIN: str(entry.retain)})


def _without_cloud(entry: Entry) -> Entry:
    return replace(entry, listener="", target_group="", target="")


def _record(world: World, entries: Sequence[Entry]) -> None:
    world.access(entries[0].pool).record(entries[0].uid, entries)
    world.entries |= {e.id: e for e in entries}
    world.confirmed |= {e.id for e in entries if e.state is EntryState.BOUND}


def _driver(services: PortServices, world: World, entry: Entry, priority: Priority) -> LoadBalancerApi:
    region = world.config(entry.pool).spec.region
    return services.driver(region).on_behalf_of(world.run.key, priority, world.run.keep)


def drop_strangers(driver: LoadBalancerApi, target_group: str, target: str) -> None:
    """Deregisters every target but `target` ('' = all)."""
    try:
        strangers = standing(driver, target_group) - {target}
    except CloudNotFound:
        if target:
            raise
        return
    if strangers:
        driver.deregister(target_group, [address_of(text) for text in sorted(strangers)])
