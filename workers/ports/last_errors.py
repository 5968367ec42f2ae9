"""Keeps the last AWS error of a pod for `berthmaster explain`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from berthmaster.redis.outage import OUTAGE
from workers.cloud.errors import cloud_error_in
from workers.stores.ports.last_errors import Troubles


@contextmanager
def keep_last_error(troubles: Troubles, key: str) -> Iterator[None]:
    """Wrap a run. The run's error goes on, even when Redis cannot keep it."""
    try:
        yield
    except Exception as error:
        if cloud := cloud_error_in(error):
            with suppress(*OUTAGE):
                troubles.put(key, cloud.action, cloud.code, cloud.reason)
        raise
