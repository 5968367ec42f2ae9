"""What a fleet leaves in Redis and Kubernetes while its processes run, without the processes."""

from __future__ import annotations

from datetime import timedelta

from berthmaster import routing
from berthmaster.redis.identity import Identity
from berthmaster.redis.incarnation import connect
from events.publisher.lease import Lease
from events.settings import LeaseSettings
from events.workqueue import Workqueue
from tests.fixtures.kube import Kube
from workers.stores.ticks import Ticks


def leave_stamp(redis_url: str, fleet: Identity) -> None:
    """A publisher has listed, and a worker has done a tick."""
    with connect(redis_url) as redis:
        queue = Workqueue(redis, hint_queue=routing.LATENCY)
        epoch = f"{queue.highest_epoch() + 1}:publisher-a"
        assert queue.assume_epoch(epoch, fleet)
        assert queue.stamp(epoch)
        Ticks(redis).record(routing.QUEUE_TICK)


def leave_lease(kube: Kube) -> Lease:
    """A publisher holds its Lease in the namespace of the test, for an hour."""
    settings = LeaseSettings(namespace=kube.namespace, duration=timedelta(hours=1))
    lease = Lease(kube.api, settings, "publisher-a")
    assert lease.try_acquire()
    return lease
