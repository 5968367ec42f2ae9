"""Builds the services of pods and port pools from the settings."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from redis import Redis

from berthmaster import routing
from berthmaster.broker.sending import Sender
from events.kube.api import KubeApi
from events.workqueue import Workqueue
from workers.cloud.provider import CloudProvider, Drivers
from workers.kube.event_outbox import EventOutbox
from workers.kube.events import KubeEvents
from workers.kube.namespaces import Namespaces
from workers.kube.pods import PodClient
from workers.kube.port_pools import PortPools
from workers.port_services import PortServices
from workers.settings import WorkerSettings
from workers.stores.buckets import RedisBuckets
from workers.stores.journal import EventJournal
from workers.stores.mutexes import RedisMutexes
from workers.stores.pool_names import PoolNames, ShownStatus
from workers.stores.ports.audit_memory import AuditMemory
from workers.stores.ports.last_errors import Troubles
from workers.stores.ports.ledger import Ledger, load_scripts

WAKE_AGAIN_AFTER: Final = timedelta(seconds=30)


def port_services(
    settings: WorkerSettings, redis: Redis, queue: Workqueue, sender: Sender, journal: EventJournal
) -> PortServices:
    """Build the services. Nothing connects yet."""
    kube, scripts = KubeApi.connect(settings.kubernetes), load_scripts(redis)

    def buckets(provider: CloudProvider, region: str) -> RedisBuckets:
        return RedisBuckets(redis, provider.rules.name, region, provider.rates)

    def send_scale_up(pool: str, epoch: str, token: str) -> bool:
        return sender.send(routing.POOLS_SCALE_UP, pool, epoch, token)

    return PortServices(
        queue=queue,
        ledger=lambda pool: Ledger(redis, scripts, pool),
        driver=Drivers(settings.providers, buckets, RedisMutexes(redis)),
        pods=PodClient(kube),
        pools=PortPools(kube),
        namespaces=Namespaces(kube),
        events=KubeEvents(kube, EventOutbox()),
        journal=journal,
        pool_names=PoolNames(redis),
        shown=ShownStatus(redis),
        audit_memory=AuditMemory(redis),
        troubles=Troubles(redis),
        send_scale_up=send_scale_up,
        cluster=settings.cluster,
        default_spec=settings.ports.default_spec,
        retain_for=settings.ports.retain_for,
        call_time=settings.call_time,
        recheck=settings.ports.waiting_recheck,
        scale_up_lease=settings.ports.scale_up_lease,
        orphan_grace=settings.ports.orphan_grace,
        audit_targets=settings.ports.audit_targets,
        wake_again_after=WAKE_AGAIN_AFTER,
    )
