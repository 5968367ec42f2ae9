"""What AWS said last about a pod is kept, for who asks why it waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from berthmaster.redis.outage import OUTAGE
from workers.cloud.errors import cloud_error_in
from workers.stores.ports.last_errors import Troubles


@contextmanager
def keep_last_error(troubles: Troubles, key: str) -> Iterator[None]:
    """Around a run. That an error cannot be kept hides no error."""
    try:
        yield
    except Exception as error:
        if cloud := cloud_error_in(error):
            with suppress(*OUTAGE):
                troubles.put(key, cloud.action, cloud.code, cloud.reason)
        raise
