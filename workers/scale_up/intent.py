"""Carries out the open intent of a pool: creates its load balancers and adds them to the ledger in one script.

The script wakes the waiting pods that fit, and what still does not fit requests the next scale-up.
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
from workers.scale_up.request import request_scale_up
from workers.stores.ports.ledger import NotReady
from workers.stores.ports.pool_ledger import PoolLoadBalancer, PortPoolLedger
from workers.stores.ports.pool_notes import PoolNotes
from workers.telemetry.port_metrics import count_scale_up

log = structlog.get_logger()
RETRIES = RetryPolicy(first=timedelta(seconds=2), longest=timedelta(minutes=2))
CREATE_PATIENCE = timedelta(seconds=5)


def scale_up(services: PortServices, pool: str, epoch: str, token: str) -> None:
    """Carry out the scale-up of one epoch; `token` belongs to the key of its request.

    When Redis is lost meanwhile, a later sweep requests again, and that scale-up adopts the created load balancers by
    their names.
    """
    try:
        _scale_up(services, pool, epoch, token)
    except (NotReady, *OUTAGE) as error:
        warn(log, "scale_up_abandoned", error, pool=pool, epoch=epoch)


def _scale_up(services: PortServices, pool: str, epoch: str, token: str) -> None:
    """After an error the key stays for a while, and then the sweep tries again. Raises NotReady."""
    pool_ledger = PortPoolLedger(services.ledger(pool))
    config = decode_config(pool_ledger.config())
    if not config:
        return pool_ledger.give_up_win(epoch, token)
    try:
        intent = pool_ledger.intent(epoch, limits(services, pool, config.spec))
        if isinstance(intent, Intent):
            carry_out(services, pool, config, intent)
        else:
            log.info("scale_up_not_needed", pool=pool, epoch=epoch, reason=intent.lower())
            count_scale_up(pool, intent.lower())
    except (TransientError, TerminalError) as error:
        wait = getattr(error, "retry_after", None) or _backoff(pool_ledger)
        pool_ledger.back_off(epoch, token, wait)
        _report_failure(services, pool, config, epoch, error)
        return None
    finish(services, pool, epoch, token)
    return None


def _backoff(pool_ledger: PortPoolLedger) -> timedelta:
    """Count the failure, and wait longer for each in a row."""
    return backoff(RETRIES, pool_ledger.failures(1) - 1, SystemRandom().random())


def carry_out(services: PortServices, pool: str, config: PoolConfig, intent: Intent) -> None:
    """Create the load balancers of the intent and close it.

    Idempotent: names come from slots, so every attempt creates the same load balancers.
    """
    created = [_checked(_create(services, pool, config.spec, slot), config.spec) for slot in intent.slots]
    pool_ledger = PortPoolLedger(services.ledger(pool))
    ranks = positions(
        config.spec.load_balancers, [(slot, lb.name) for slot, lb in zip(intent.slots, created, strict=True)]
    )
    capacity = config.spec.capacity_within(_driver(services, pool, config.spec).limits().listeners)
    lbs = [_ledger_row(slot, lb, ranks[lb.name], capacity) for slot, lb in zip(intent.slots, created, strict=True)]
    woken = pool_ledger.close(intent, lbs)
    if woken is None:
        log.info("scale_up_closed_by_another", pool=pool, intent=intent.id)
        return
    pool_ledger.failures(0)
    PoolNotes(pool_ledger.redis, pool_ledger.prefix).put_trouble(None)
    count_scale_up(pool, "created")
    log.info("load_balancers_added", pool=pool, lbs=[lb.name for lb in created], woken=len(woken))
    services.queue.touch([pod_key(*name.split("/")) for name in woken])
    services.queue.touch([port_pool_key(pool)])
    names = ", ".join(lb.name for lb in created)
    services.events.pool(pool, config.uid, "LoadBalancersAdded", f"added {names}", once=intent.id)


def finish(services: PortServices, pool: str, epoch: str, token: str) -> None:
    """Delete the key of the request, and request for what still does not fit at the present epoch."""
    pool_ledger = PortPoolLedger(services.ledger(pool))
    pool_ledger.give_up_win(epoch, token)
    pressure = pool_ledger.pressure(services.wake_again_after)
    services.queue.touch([pod_key(*name.split("/")) for name in pressure.woken])
    if pressure.short > 0 and pressure.epoch != epoch:
        request_scale_up(services, pool, pressure.epoch)


def _ledger_row(slot: int, lb: LoadBalancer, position: int, capacity: int) -> PoolLoadBalancer:
    """A load balancer that existed may be tagged as retiring: its removal began before Redis was lost, and goes on."""
    retiring = RETIRING in lb.tags
    room = 0 if retiring else capacity
    return PoolLoadBalancer(lb.name, lb.arn, lb.dns_name, slot, position, room, retiring=retiring)


def _create(services: PortServices, pool: str, spec: PortPoolSpec, slot: int) -> LoadBalancer:
    name = name_of(services, pool, spec, slot)
    tags = dict(spec.auto_create.parameters.tags) | created_tags(services.cluster, pool)
    return _driver(services, f"{pool}/{slot}", spec).create_load_balancer(name, spec.auto_create.parameters, tags)


def _driver(services: PortServices, what: str, spec: PortPoolSpec) -> LoadBalancerApi:
    caller = f"scale-up/{what}"
    return services.driver(spec.region).on_behalf_of(caller, Priority.GROW, patience=CREATE_PATIENCE)


def _account_limit(services: PortServices, pool: str, config: PoolConfig, error: CloudError) -> str:
    """The limit of the account, for the person who must have it raised."""
    if not isinstance(error, LoadBalancersFull):
        return ""
    with contextlib.suppress(TransientError):
        most = _driver(services, pool, config.spec).limits().load_balancers
        return f" (the account may have {most} network load balancers in {config.spec.region})"
    return ""


def _checked(lb: LoadBalancer, spec: PortPoolSpec) -> LoadBalancer:
    """Stop when it is in another VPC: it could never reach a target group of the pool, and neither could the next."""
    if lb.vpc_id and lb.vpc_id != spec.vpc_id:
        raise TerminalError(f"the subnets are in {lb.vpc_id}, spec.vpcId is {spec.vpc_id}")
    return lb


def _report_failure(services: PortServices, pool: str, config: PoolConfig, epoch: str, error: Exception) -> None:
    count_scale_up(pool, "failed")
    log.warning("scale_up_failed", pool=pool, epoch=epoch, error=str(error))
    if cloud_error := cloud_error_in(error):
        reason = f"{cloud_error.call}: {cloud_error.reason}" + _account_limit(services, pool, config, cloud_error)
        _report_to_people(services, pool, config, reason, f"{epoch}/{cloud_error.code}")
    elif isinstance(error, TerminalError):
        _report_to_people(services, pool, config, str(error), f"{epoch}/{error}")


def _report_to_people(services: PortServices, pool: str, config: PoolConfig, reason: str, once: str) -> None:
    """Write an Event, and show the reason in the status until a scale-up succeeds."""
    services.events.pool(pool, config.uid, "ScaleUpFailed", reason, once=once, warning=True)
    ledger = services.ledger(pool)
    PoolNotes(ledger.redis, ledger.prefix).put_trouble(reason)
    services.queue.touch([port_pool_key(pool)])
