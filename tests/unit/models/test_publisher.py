"""The model of the publisher: that it holds, and that each rule is needed."""

from __future__ import annotations

import pytest

from tests.models.publisher import OLDER, RELEASED, Flags, check
from tests.unit.models.large import with_large


@pytest.mark.parametrize(
    "flags",
    with_large(
        [Flags(), Flags(faults=2), Flags(deleted_lease=True)],
        [Flags(changes=4, faults=2), Flags(faults=3), Flags(changes=4, faults=2, deleted_lease=True)],
    ),
)
def test_redis_and_aws_end_equal_to_the_cluster_and_no_live_pod_is_released(flags: Flags) -> None:
    result = check(flags)
    assert result.broken is None, result.trace
    assert result.states > 1000


@pytest.mark.parametrize(
    ("flags", "broken"),
    [
        (Flags(fence=False), OLDER),
        (Flags(identity=False, deleted_lease=True), OLDER),
        (Flags(redis_diff=False), "stuck"),
        (Flags(late_scan=False, changes=4), "stuck"),
        (Flags(watermark=False), OLDER),
        (Flags(consistent=False, faults=2), OLDER),
        (Flags(consistent=False, gone_version=False, faults=2), RELEASED),
        (Flags(stamp=False), "stuck"),
        (Flags(pinned=False, faults=2), RELEASED),
        (Flags(gate=False), OLDER),
        (Flags(all_uids=False, faults=0), "stuck"),
        (Flags(repair="before"), RELEASED),
        (Flags(repair="never"), "stuck"),
    ],
)
def test_each_rule_is_needed(flags: Flags, broken: str) -> None:
    """Rules epoch, againstredis, watermark, consistent, goneversion, probe, stamp, samestamp, alluids, afterstamp."""
    result = check(flags)
    assert result.broken == broken
    assert result.trace
