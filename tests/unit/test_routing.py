"""Names, and hints as a Celery worker will read them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from kombu.transport.virtual import Message

from berthmaster import routing


class NoChannel:
    """What kombu's message needs of a channel to read its body: nothing is encoded."""

    no_ack_consumers: frozenset[str] = frozenset()

    def decode_body(self, body: str, encoding: str | None = None) -> str:
        assert encoding is None
        return body


def delivered(raw: bytes) -> Any:
    channel: Any = NoChannel()
    return Message(orjson.loads(raw), channel=channel, accept=["application/json"])


@pytest.mark.parametrize(
    ("key", "task"),
    [("pod/games/lobby-0", routing.PORTS_RECONCILE), ("portpool/arena", routing.POOLS_RECONCILE)],
)
def test_a_hint_asks_the_reconciler_of_its_kind_for_the_key(key: str, task: str) -> None:
    message = delivered(routing.hint(key))
    assert message.headers["task"] == task
    args, kwargs, embedded = message.decode()
    assert (args, kwargs) == ([key], {})
    assert set(embedded.values()) == {None}


def test_a_kind_that_nobody_reconciles_has_no_hint() -> None:
    with pytest.raises(KeyError):
        routing.hint("node/a")


@pytest.mark.parametrize("task", sorted(routing.QUEUES))
def test_a_message_returns_to_the_queue_of_its_task_when_it_is_given_back(task: str) -> None:
    info = delivered(routing.message(task)).delivery_info
    assert info == {"exchange": "", "routing_key": routing.QUEUES[task]}


def test_no_two_hints_are_the_same_message() -> None:
    tags = {delivered(routing.hint("portpool/arena")).delivery_tag for _ in range(1000)}
    assert len(tags) == 1000


def test_a_sweep_for_lost_hints_goes_through_the_queue_of_the_hints() -> None:
    hinted = {routing.QUEUES[task] for task in routing.RECONCILERS.values()}
    assert hinted == {routing.QUEUES[routing.QUEUE_SWEEP_LOST]}


def test_keys_are_split_into_what_they_were_made_of() -> None:
    assert routing.split_key(routing.pod_key("games", "lobby-0")) == ("pod", "games", "lobby-0")
    assert routing.split_key(routing.port_pool_key("arena")) == ("portpool", "arena")
