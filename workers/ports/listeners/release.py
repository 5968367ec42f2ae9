"""Giving a port back: learn the ARN, record that it goes, delete by ARN, and only then free the port."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import structlog

from berthmaster.errors import TerminalError, TransientError
from berthmaster.routing import pod_key
from domain.ports.entry import Entry, EntryState
from workers.cloud.driver import Listener, LoadBalancerApi
from workers.cloud.errors import Busy, CloudNotFound
from workers.cloud.names import target_group_name
from workers.cloud.priority import Priority
from workers.cloud.tags import POOL, UID
from workers.port_services import PortServices
from workers.ports.listeners.precreated import Precreated
from workers.ports.observe import World

log = structlog.get_logger()


def release(services: PortServices, world: World, entry: Entry) -> None:
    """Any error leaves the entry releasing, so that its port is not given out while the cloud may still have something
    on it.
    """
    spec = world.config(entry.pool).spec
    driver = services.driver(spec.region).on_behalf_of(world.run.key, Priority.UNBIND, world.run.keep)
    with trying_again(entry):
        if spec.precreate.total:
            woken = Precreated(services, world, driver, entry).release()
        else:
            woken = _deleted(world, driver, entry)
    _forget(services, world, entry, woken)
    log.info("port_released", pod=world.full_name, pool=entry.pool, port=entry.port, lb=entry.lb)


def _deleted(world: World, driver: LoadBalancerApi, entry: Entry) -> tuple[str, ...]:
    """The names that were woken."""
    known = learned(world, driver, entry)
    going = replace(known, state=EntryState.RELEASING)
    world.access(entry.pool).releasing(going)
    world.entries[entry.id] = going
    _delete(world, driver, going)
    return world.access(entry.pool).free(going)


@contextmanager
def trying_again(entry: Entry) -> Iterator[None]:
    """Nothing that a person changes would wake the run of a pod that is gone: so it tries again by itself."""
    try:
        yield
    except TerminalError as error:
        raise TransientError(f"port {entry.port} of {entry.lb} cannot be given back: {error}") from error


def _delete(world: World, driver: LoadBalancerApi, entry: Entry) -> None:
    """A target group that must wait for its token is remembered without its listener, which is not deleted twice."""
    if entry.listener:
        driver.delete_listener(entry.listener)
    if entry.target_group:
        try:
            driver.delete_target_group(entry.target_group)
        except TransientError as error:
            left = _late_listener(world, driver, entry) if isinstance(error, Busy) else ""
            world.access(entry.pool).releasing(replace(entry, listener=left))
            raise


def _late_listener(world: World, driver: LoadBalancerApi, entry: Entry) -> str:
    """In use after its listener went: a late call of a stale run has made another, which goes with the next attempt."""
    carrier = world.carriers.get(entry.lb)
    return _listener_of(driver, carrier.arn, entry) if carrier else ""


def rollback(services: PortServices, world: World, entry: Entry) -> None:
    """Frees what this very run has allocated and for which no cloud call was made."""
    _forget(services, world, entry, world.access(entry.pool).free(entry))


def _forget(services: PortServices, world: World, entry: Entry, woken: tuple[str, ...]) -> None:
    world.entries.pop(entry.id)
    world.fresh.discard(entry.id)
    services.queue.touch([pod_key(*name.split("/")) for name in woken])


def learned(world: World, driver: LoadBalancerApi, entry: Entry) -> Entry:
    """A run that died between call and record left no ARNs: what carries this UID's tag or name is ours to delete.

    What goes already has its ARNs; a target group alone means that the listener is gone.
    """
    carrier = world.carriers.get(entry.lb)
    half_gone = entry.state is EntryState.RELEASING and entry.target_group
    if not entry.target_group:
        name = target_group_name(entry.uid, entry.lb, entry.port)
        lone = driver.find_target_group(name)
        entry = replace(entry, target_group=lone.arn if lone and lone.tags.get(UID) == entry.uid else "")
    if not entry.listener and carrier and not half_gone:
        entry = replace(entry, listener=_listener_of(driver, carrier.arn, entry))
    return entry


def _listener_of(driver: LoadBalancerApi, load_balancer_arn: str, entry: Entry) -> str:
    try:
        found = driver.find_listener(load_balancer_arn, entry.port)
    except CloudNotFound:
        return ""  # the load balancer is gone, and its listeners with it
    return found.arn if found and _serves(found, entry) else ""


def _serves(found: Listener, entry: Entry) -> bool:
    """Known by its owner, or, if somebody took that tag away, by the target group that it sends to, which is ours."""
    sends = entry.target_group and found.target_group_arn == entry.target_group
    return found.tags.get(UID) == entry.uid or bool(sends and found.tags.get(POOL) == entry.pool)
