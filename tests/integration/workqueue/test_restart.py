"""Redis is restarted with its data: another process, so nothing is trusted until the publisher has listed again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from berthmaster.redis.incarnation import connect
from compose.sandbox.redis_server import RedisServer
from events.workqueue import LOST, Refusal
from tests.integration.workqueue.brokers import Here
from tests.integration.workqueue.world import EPOCH, HOUR, OTHER, World, mark
from tests.support.faults.redis_restart import restart


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path).start()
    yield server
    server.kill()


@pytest.fixture
def kept(server: RedisServer) -> Iterator[World]:
    """Every write is on disk at once: what a restart changes is the process, not the data."""
    client = connect(server.url)
    client.config_set("appendfsync", "always")
    yield World(Here(client))
    client.close()


@pytest.mark.row("EV-10", "EV-11")
def test_nothing_is_taken_under_another_run_id(server: RedisServer, kept: World) -> None:
    """Rule samestamp."""
    kept.mark(1)
    kept.mark(1, OTHER)
    held = kept.take(OTHER)
    restart(server)
    assert not kept.queue.stands(EPOCH)
    assert kept.try_take() is Refusal.NOT_READY
    assert kept.mark(2) == LOST
    assert kept.dirty()
    kept.publish_anew()
    assert kept.take().snapshot is not None
    assert kept.queue.renew(held, HOUR)  # its token is as good as before: no heir was made


@pytest.mark.row("EV-10")
def test_a_list_that_was_begun_under_another_run_id_is_not_stamped(server: RedisServer, kept: World) -> None:
    """Rule stamp."""
    assert kept.queue.assume_epoch(EPOCH)
    assert kept.queue.marks(EPOCH, [mark(1)], relist=True) == [1]
    restart(server)
    assert kept.queue.marks(EPOCH, [mark(2)], relist=True) == [0]
    assert not kept.queue.stamp(EPOCH)
    assert kept.try_take() is Refusal.NOT_READY
    kept.publish_anew()
    kept.take()


@pytest.mark.row("EV-10")
def test_scripts_are_given_to_a_server_that_forgot_them(server: RedisServer, kept: World) -> None:
    restart(server)
    kept.publish_anew()
    assert kept.queue.marks(EPOCH, [mark(1), mark(2)]) == [1, 0]
    assert len(kept.run_all()) == 1


@pytest.mark.row("EV-10", "EV-14")
def test_hints_that_went_down_with_a_restarted_server_are_replaced_as_soon_as_it_is_verified(
    server: RedisServer, kept: World
) -> None:
    """Rule opened: no hint of another incarnation counts."""
    kept.mark(1)
    kept.broker.lose_all()
    restart(server)
    kept.publish_anew()
    assert len(kept.run_all()) == 1


@pytest.mark.row("EV-14")
def test_another_list_of_the_same_server_sends_no_second_hint(kept: World) -> None:
    kept.mark(1)
    kept.publish_anew()
    assert len(kept.hints()) == 1
