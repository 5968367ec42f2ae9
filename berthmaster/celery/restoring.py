"""The look for messages of dead workers, in place of kombu's: it takes no message from a worker that lives.

kombu lists the overdue tags and gives each back if its message is still there. A message keeps its tag when it comes
again. So where a look lasts longer than its lock, or its process stood still, another look has given the message back,
a worker has it, and the first look gives it back once more. This one gives a message back only while it is as overdue
as when it was listed, and ends before its lock does; the next look goes on.
"""

from __future__ import annotations

import time
from typing import Any, Final

from kombu.transport import redis as transport
from kombu.utils.encoding import bytes_to_str
from kombu.utils.json import loads

SHARE: Final = 0.8
"""Of the lock's time, in which a look begins to give messages back."""


def restore_visible(qos: Any, start: int = 0, num: int | None = 10, interval: int = 10) -> None:
    """Give back what is overdue, on every `interval`th call, up to `num` messages."""
    qos._vrestore_count += 1
    if (qos._vrestore_count - 1) % (interval or 1):
        return
    began = time.monotonic()
    overdue = time.time() - qos.visibility_timeout  # noqa: TID251 - the clock by which kombu notes a delivery
    with qos.channel.conn_or_acquire() as client:
        try:
            with transport.Mutex(client, qos.unacked_mutex_key, qos.unacked_mutex_expire):
                for tag, since in listed(client, qos, overdue, offset=num and start, num=num):
                    give_back(client, qos, tag, since)
                    if time.monotonic() - began > SHARE * qos.unacked_mutex_expire:
                        return
        except transport.MutexHeld:
            pass


def listed(client: Any, qos: Any, overdue: float, **page: Any) -> Any:
    """Return the tags of messages that were delivered at `overdue` or before, and when each was."""
    return client.zrange(qos.unacked_index_key, overdue, 0, desc=True, byscore=True, withscores=True, **page) or ()


def give_back(client: Any, qos: Any, tag: Any, since: float) -> None:
    """Put a message back into its queue, unless it was acknowledged or delivered again meanwhile."""

    def step(pipe: Any) -> None:
        # ZRANGE, as the Redis user of a runner has no ZSCORE
        there = tag in pipe.zrange(qos.unacked_index_key, since, since, byscore=True)
        message = pipe.hget(qos.unacked_key, tag)
        pipe.multi()
        if not there:
            return
        qos._remove_from_indices(tag, pipe)
        if message:
            body, exchange, routing_key = loads(bytes_to_str(message))
            qos.channel._do_restore_message(body, exchange, routing_key, pipe)

    client.transaction(step, qos.unacked_key, qos.unacked_index_key)
