"""A Celery worker that uses only the keys of its own pool, for a Redis user that may use no others.

Gossip, mingle, events and remote control use channels and keys that all workers of a broker share. Unacknowledged
messages are in shared keys as well, unless these keys get a name of their own.
"""

from __future__ import annotations

from typing import Any

from berthmaster.celery.consumer import TolerantConsumer
from berthmaster.routing import runner_queues


class NarrowConsumer(TolerantConsumer):
    """A consumer without the parts that Celery can otherwise leave out only by its command line."""

    def __init__(self, *args: Any, **options: Any) -> None:
        apart = dict.fromkeys(("without_gossip", "without_mingle", "without_heartbeat"), True)
        super().__init__(*args, **options | {"worker_options": {**(options.get("worker_options") or {}), **apart}})


def narrowed(pool: str, transport: dict[str, Any]) -> dict[str, Any]:
    """Return the settings for Celery; `transport` are the application's own options."""
    names = ("unacked", "unacked_index", "unacked_mutex")
    return {
        "worker_consumer": f"{__name__}:{NarrowConsumer.__name__}",
        "worker_enable_remote_control": False,
        "worker_send_task_events": False,
        "broker_transport_options": {**transport, **{f"{n}_key": f"{runner_queues(pool)}/{n}" for n in names}},
    }
