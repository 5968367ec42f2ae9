"""Carries out a pool's one open intent: creates its load balancers, adds them in one script, wakes who fits, asks for
the rest.
"""

from __future__ import annotations

import contextlib
from datetime import timedelta
from random import SystemRandom

import structlog

from berthmaster.errors import TerminalError, TransientError
from berthmaster.redis.outage import OUTAGE
from berthmaster.redis.refusals import warn
from berthmaster.routing import pod_key, port_pool_key
from domain.backoff import RetryPolicy, backoff
from domain.port_pools.placement import positions
from domain.port_pools.port_pool import PortPoolSpec
from domain.port_pools.scale_up import Intent
from workers.cloud.driver import LoadBalancer, LoadBalancerApi
from workers.cloud.errors import CloudError, LoadBalancersFull, cloud_error_in
from workers.cloud.priority import Priority
from workers.cloud.tags import RETIRING, created_tags
from workers.port_services import PortServices
from workers.scale_up.limits import limits, name_of
from workers.scale_up.pool_config import PoolConfig, decode_config
from workers.scale_up.request import ask
from workers.stores.ports.ledger import NotReady
from workers.stores.ports.pool_ledger import Growth, PoolLoadBalancer
from workers.stores.ports.pool_notes import PoolNotes
from workers.telemetry.port_metrics import count_scale_up

log = structlog.get_logger()
RETRIES = RetryPolicy(first=timedelta(seconds=2), longest=timedelta(minutes=2))
CREATE_PATIENCE = timedelta(seconds=5)


def scale_up(services: PortServices, pool: str, epoch: str, token: str) -> None:
    """The work of one winner; `token` is its key's. Where Redis goes or is new meanwhile, the sweep of a later one asks
    again: whoever wins then finds by their names the load balancers that were made.
    """
    try:
        _win(services, pool, epoch, token)
    except (NotReady, *OUTAGE) as error:
        warn(log, "scale_up_abandoned", error, pool=pool, epoch=epoch)


def _win(services: PortServices, pool: str, epoch: str, token: str) -> None:
    """Errors end it with its key left for a while, so that the sweep tries again later. Raises NotReady."""
    growth = Growth(services.ledger(pool))
    config = decode_config(growth.config())
    if not config:
        return growth.give_up_win(epoch, token)
    try:
        intent = growth.intent(epoch, limits(services, pool, config.spec))
        if isinstance(intent, Intent):
            carry_out(services, pool, config, intent)
        else:
            log.info("scale_up_not_needed", pool=pool, epoch=epoch, reason=intent.lower())
            count_scale_up(pool, intent.lower())
    except (TransientError, TerminalError) as error:
        wait = getattr(error, "retry_after", None) or backoff(RETRIES, growth.failures(1) - 1, SystemRandom().random())
        growth.back_off(epoch, token, wait)
        _tell_failure(services, pool, config, epoch, error)
        return None
    finish(services, pool, epoch, token)
    return None


def carry_out(services: PortServices, pool: str, config: PoolConfig, intent: Intent) -> None:
    """Idempotent: names come from slots, so that every winner asks for the same load balancers."""
    made = [_usable(_ensure(services, pool, config.spec, slot), config.spec) for slot in intent.slots]
    growth = Growth(services.ledger(pool))
    ranks = positions(
        config.spec.load_balancers, [(slot, lb.name) for slot, lb in zip(intent.slots, made, strict=True)]
    )
    capacity = config.spec.capacity_within(_driver(services, pool, config.spec).limits().listeners)
    lbs = [_added(slot, lb, ranks[lb.name], capacity) for slot, lb in zip(intent.slots, made, strict=True)]
    woken = growth.close(intent, lbs)
    if woken is None:
        log.info("scale_up_closed_by_another", pool=pool, intent=intent.id)
        return
    growth.failures(0)
    PoolNotes(growth.redis, growth.prefix).put_trouble("")
    count_scale_up(pool, "created")
    log.info("load_balancers_added", pool=pool, lbs=[lb.name for lb in made], woken=len(woken))
    services.queue.touch([pod_key(*name.split("/")) for name in woken])
    services.queue.touch([port_pool_key(pool)])
    names = ", ".join(lb.name for lb in made)
    services.events.pool(pool, config.uid, "LoadBalancersAdded", f"added {names}", once=intent.id)


def finish(services: PortServices, pool: str, epoch: str, token: str) -> None:
    """The winner's key goes, and what still does not fit is asked for at the epoch of now."""
    growth = Growth(services.ledger(pool))
    growth.give_up_win(epoch, token)
    pressure = growth.pressure(services.forgotten)
    services.queue.touch([pod_key(*name.split("/")) for name in pressure.woken])
    if pressure.short > 0 and pressure.epoch != epoch:
        ask(services, pool, pressure.epoch)


def _added(slot: int, lb: LoadBalancer, position: int, capacity: int) -> PoolLoadBalancer:
    """One that was there already may be tagged: its removal was begun before Redis was lost, and goes on."""
    retiring = RETIRING in lb.tags
    room = 0 if retiring else capacity
    return PoolLoadBalancer(lb.name, lb.arn, lb.dns_name, slot, position, room, retiring=retiring)


def _ensure(services: PortServices, pool: str, spec: PortPoolSpec, slot: int) -> LoadBalancer:
    name = name_of(services, pool, spec, slot)
    tags = dict(spec.auto_create.parameters.tags) | created_tags(services.cluster, pool)
    return _driver(services, f"{pool}/{slot}", spec).create_load_balancer(name, spec.auto_create.parameters, tags)


def _driver(services: PortServices, what: str, spec: PortPoolSpec) -> LoadBalancerApi:
    caller = f"scale-up/{what}"
    return services.driver(spec.region).on_behalf_of(caller, Priority.GROW, patience=CREATE_PATIENCE)


def _limit(services: PortServices, pool: str, config: PoolConfig, error: CloudError) -> str:
    """For who must ask AWS for more: how many there may be."""
    if not isinstance(error, LoadBalancersFull):
        return ""
    with contextlib.suppress(TransientError):
        most = _driver(services, pool, config.spec).limits().load_balancers
        return f" (the account may have {most} network load balancers in {config.spec.region})"
    return ""


def _usable(made: LoadBalancer, spec: PortPoolSpec) -> LoadBalancer:
    """One elsewhere could never reach a target group of the pool: no second one is made like it."""
    if made.vpc_id and made.vpc_id != spec.vpc_id:
        raise TerminalError(f"the subnets are in {made.vpc_id}, spec.vpcId is {spec.vpc_id}")
    return made


def _tell_failure(services: PortServices, pool: str, config: PoolConfig, epoch: str, error: Exception) -> None:
    count_scale_up(pool, "failed")
    log.warning("scale_up_failed", pool=pool, epoch=epoch, error=str(error))
    if told := cloud_error_in(error):
        reason = f"AWS {told.action}: {told.reason}" + _limit(services, pool, config, told)
        _tell_people(services, pool, config, reason, f"{epoch}/{told.code}")
    elif isinstance(error, TerminalError):
        _tell_people(services, pool, config, str(error), f"{epoch}/{error}")


def _tell_people(services: PortServices, pool: str, config: PoolConfig, reason: str, once: str) -> None:
    """In an Event, and in the pool's status until a scale-up goes well."""
    services.events.pool(pool, config.uid, "ScaleUpFailed", reason, once=once, warning=True)
    ledger = services.ledger(pool)
    PoolNotes(ledger.redis, ledger.prefix).put_trouble(reason)
    services.queue.touch([port_pool_key(pool)])
