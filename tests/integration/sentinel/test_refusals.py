"""What a master behind sentinels refuses for now is a lost connection, as it is without them."""

from __future__ import annotations

import pytest

from berthmaster.broker.address import connection
from berthmaster.celery import transport_guard
from berthmaster.redis.client import connect_state
from berthmaster.redis.refusals import RefusedError
from berthmaster.redis.settings import RedisSettings
from tests.support.faults.refusing import REAL
from tests.support.servers.sentinel_group import SentinelGroup


@pytest.mark.row("RD-22")
def test_a_refusal_of_a_master_is_an_outage_for_state_and_broker(group: SentinelGroup) -> None:
    transport_guard.install()
    master = group.master()
    with connect_state(RedisSettings(url=group.url)) as state, connection(group.url, {}) as broker:
        with REAL["OOM"](master):
            with pytest.raises(RefusedError):
                state.set("a", 1)
            with pytest.raises(broker.connection_errors, match="OOM"):
                broker.SimpleQueue("q").put("message")
        assert state.set("a", 1)
        broker.SimpleQueue("q").put("message")
