"""What the doctor thinks of what it is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from workers.cli.checks import judge_memory, judge_queue, judge_scripting, judge_server
from workers.cli.clocks import judge_clock
from workers.cli.lease_check import judge_lease
from workers.cli.permissions import Permission
from workers.cli.process_checks import judge_ticks
from workers.cli.sentinel_checks import judge_replication
from workers.stores.sentinel_facts import Replication
from workers.stores.server_facts import ServerFacts

GOOD = ServerFacts((7, 2, 4), append_only=True, eviction="noeviction")


def failing(facts: ServerFacts) -> list[str]:
    return [check.name for check in judge_server(facts) if not check.ok]


def test_a_server_that_keeps_everything_is_well() -> None:
    assert failing(GOOD) == []


def test_an_old_or_evicting_server_is_not_and_a_forgetful_one_is() -> None:
    assert failing(GOOD._replace(version=(6, 2, 14))) == ["Redis is 7.0 or newer"]
    assert failing(GOOD._replace(append_only=False)) == []
    assert failing(GOOD._replace(eviction="allkeys-lru")) == ["Redis evicts nothing"]


VULNERABLE = [
    *((version, ()) for version in ((7, 0, 15), (7, 2, 10), (7, 4, 5), (8, 0, 3), (8, 2, 1))),
    *(((7, 2, 4), version) for version in ((7, 2, 10), (8, 0, 5), (8, 1, 3))),
]
FIXED = [
    *((version, ()) for version in ((7, 2, 11), (7, 4, 6), (8, 0, 4), (8, 2, 2), (8, 4, 0))),
    *(((7, 2, 4), version) for version in ((7, 2, 11), (8, 0, 6), (8, 1, 4), (8, 1, 7), (9, 0, 0))),
]


@pytest.mark.row("HO-05")
@pytest.mark.parametrize("version, valkey, warns", [*((*v, True) for v in VULNERABLE), *((*v, False) for v in FIXED)])
def test_a_server_without_the_fixes_of_its_lua_is_warned_of(
    version: tuple[int, ...], valkey: tuple[int, ...], warns: bool
) -> None:
    check = judge_scripting(GOOD._replace(version=version, valkey=valkey))
    assert (check.ok, check.warns, "CVE-2025-49844" in check.finding) == (True, warns, warns)


@pytest.mark.parametrize("ahead, ok", [(0.0, True), (2.9, True), (-2.9, True), (3.1, False), (-3.1, False)])
def test_clocks_may_differ_by_three_seconds(ahead: float, ok: bool) -> None:
    assert judge_clock("Redis", ahead).ok is ok


@pytest.mark.parametrize(
    "used, ok, warns", [(None, True, False), (0.7, True, False), (0.8, True, True), (0.95, False, True)]
)
def test_memory_warns_before_it_fails(used: float | None, ok: bool, warns: bool) -> None:
    check = judge_memory(used)
    assert (check.ok, check.warns) == (ok, warns)


@pytest.mark.parametrize("dirty, oldest, warns", [(0, 0.0, False), (10_001, 0.0, True), (1, 61.0, True)])
def test_a_long_or_old_queue_is_a_warning(dirty: float, oldest: float, warns: bool) -> None:
    check = judge_queue({"dirty": dirty, "oldest_ready_seconds": oldest})
    assert (check.ok, check.warns) == (True, warns)
    assert ("do workers run" in check.finding) is warns


def test_a_permission_is_said_as_people_say_it() -> None:
    asked = Permission("r", "patch", "berthmaster.dev", "portpools/status", "a", "b")
    assert str(asked) == "patch portpools.berthmaster.dev/status b in namespace a"


@pytest.mark.parametrize(
    "told, ok, way_out",
    [
        (Replication(2, 1, 10), True, ""),
        (Replication(2, 1), True, ""),
        (Replication(2, 0, 10), False, "set min-replicas-to-write 1"),
        (Replication(2, 1, 15), True, "lower min-replicas-max-lag or raise BERTHMASTER_REDIS__FAILOVER_WAIT"),
        (Replication(4, 1, 10), True, "cut off with 1 of its 4 replicas"),
        (Replication(5, 2, 10), True, "set min-replicas-to-write 3"),
        (Replication(4, 2, 10), True, ""),
    ],
)
def test_an_old_master_must_stop_by_itself_before_workers_go_on(told: Replication, ok: bool, way_out: str) -> None:
    alone = judge_replication(told, timedelta(seconds=15))[1]
    assert (alone.ok, alone.warns) == (ok, ok and bool(way_out))
    assert way_out in alone.finding


@pytest.mark.row("RD-26")
def test_a_lease_that_nobody_renews_fails_with_what_to_start() -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    spec = {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2029-12-31T23:59:46.000000Z"}
    assert judge_lease(spec, "Lease x/y", now) == ("Publisher runs", True, "a renewed the Lease x/y 14 s ago", False)
    late = judge_lease(spec, "Lease x/y", now + timedelta(seconds=2))
    assert not late.ok
    assert late.finding == "a renewed the Lease x/y 16 s ago, and not since: start it (`berthmaster publisher`)"


@pytest.mark.row("RD-26")
@pytest.mark.parametrize(
    "silence, messages, said",
    [
        (61.0, 1, "the last tick was done 61 s ago, with 1 message in the queue berthmaster.maintenance: no worker"),
        (604_800.0, 0, "no tick was done for a week, and beat has sent none: start beat (`berthmaster beat`)"),
        (61.0, "refused", "the last tick was done 61 s ago, and nobody knows how many wait: refused; start beat"),
    ],
)
def test_a_fleet_without_ticks_fails_with_who_is_missing(silence: float, messages: int | str, said: str) -> None:
    check = judge_ticks(silence, messages, begun=True)
    assert not check.ok
    assert check.finding.startswith(said)
    assert judge_ticks(silence, messages, begun=False).ok
