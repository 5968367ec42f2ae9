"""For how long the runs of a pool have looked at it: silence while nobody did may be ours, and not the runners'.

Their Redis user may have been lost meanwhile, which only a run makes anew: they need time to be heard again.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.unreadable import readable

SHORTEST: Final = timedelta(minutes=1)
MILLISECOND: Final = timedelta(milliseconds=1)


@readable()
def watched(ledger: SlotLedger, silence: timedelta, *, looks: bool) -> timedelta:
    """Without a pause in which a runner could have fallen silent. `looks`: this is such a look, by who has the pool.

    A jump of TIME, in either direction, is such a pause.
    """
    key = f"{ledger.prefix}watched"
    seconds, micros = ledger.redis.time()
    now = seconds * 1000 + micros // 1000
    told: Any = ledger.redis.hmget(key, "since", "last")
    since, last = (int(value or 0) for value in told)
    if not 0 <= now - last <= max(silence, SHORTEST) / MILLISECOND:
        since = now
    if looks:
        ledger.redis.hset(key, mapping={"since": since, "last": now})
    return (now - since) * MILLISECOND
