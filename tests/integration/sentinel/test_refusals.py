"""What a master behind sentinels refuses for now is a lost connection, as it is without them."""

from __future__ import annotations

import pytest

from events.redis_settings import RedisSettings
from events.refusals import RefusedError
from tests.support.refusing import REAL
from tests.support.sentinel_group import SentinelGroup
from workers import transport_guard
from workers.broker import connection
from workers.stores.client import connect_state


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
