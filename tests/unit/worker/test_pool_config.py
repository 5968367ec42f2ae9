"""What a worker keeps of the configurations of pools."""

from __future__ import annotations

import orjson
import pytest

from tests.support.ports.builders import pool_spec
from workers.scale_up import pool_config
from workers.scale_up.pool_config import PoolConfig, decode_config


@pytest.mark.row("HO-03")
def test_a_long_configuration_is_read_and_not_kept() -> None:
    short = PoolConfig("u", 1, pool_spec())
    long = PoolConfig("u", 1, pool_spec(load_balancers=tuple(f"{'x' * 200}{n}" for n in range(1000))))
    pool_config.cached.cache_clear()  # other tests of the process may have filled it
    kept = pool_config.cached.cache_info().currsize
    assert decode_config(orjson.dumps(long.encoded())) == long
    assert pool_config.cached.cache_info().currsize == kept
    assert decode_config(orjson.dumps(short.encoded())) == short
    assert pool_config.cached.cache_info().currsize == kept + 1
