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


def test_a_hint_begins_a_drain_and_names_no_key() -> None:
    message = delivered(routing.hint("1700000000000000-7"))
    assert (message.headers["task"], message.headers["id"]) == (routing.QUEUE_DRAIN, "1700000000000000-7")
    args, kwargs, embedded = message.decode()
    assert (args, kwargs) == (["1700000000000000-7"], {})
    assert set(embedded.values()) == {None}


def test_a_script_makes_the_hint_that_python_makes() -> None:
    assert "7-1".join(routing.hint_parts()).encode() == routing.hint("7-1")


@pytest.mark.parametrize(
    ("key", "task"),
    [("pod/games/lobby-0", routing.PORTS_RECONCILE), ("portpool/arena", routing.POOLS_RECONCILE)],
)
def test_a_key_has_the_task_of_its_kind(key: str, task: str) -> None:
    assert routing.reconciler(key) == task


def test_a_kind_that_nobody_reconciles_has_no_task() -> None:
    with pytest.raises(KeyError):
        routing.reconciler("node/a")


@pytest.mark.parametrize("task", sorted(routing.QUEUES))
def test_a_message_returns_to_the_queue_of_its_task_when_it_is_given_back(task: str) -> None:
    info = delivered(routing.message(task)).delivery_info
    assert info == {"exchange": "", "routing_key": routing.QUEUES[task]}


def test_no_two_messages_are_the_same() -> None:
    tags = {delivered(routing.message(routing.POOLS_RECONCILE, "portpool/arena")).delivery_tag for _ in range(1000)}
    assert len(tags) == 1000


def test_keys_are_split_into_what_they_were_made_of() -> None:
    assert routing.split_key(routing.pod_key("games", "lobby-0")) == ("pod", "games", "lobby-0")
    assert routing.split_key(routing.port_pool_key("arena")) == ("portpool", "arena")
