"""What is left of a message once it was read: what its task needs, in the shape that Celery expects, or a refusal."""

from __future__ import annotations

import json
import logging
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from celery.app import amqp
from celery.worker.request import Request
from kombu import Connection
from kombu.exceptions import MessageStateError
from kombu.message import Message as KombuMessage

from berthmaster import routing
from berthmaster.celery import envelope
from berthmaster.celery.envelope import (
    MessageRefused,
    SettledOnce,
    UncompressedAmqpMessage,
    UncompressedMessage,
)
from berthmaster.celery.settlement import SettledRequest
from tests.support.faults.odd_messages import Message, encoded, odd_messages, whole
from workers.app import create_app
from workers.settings import WorkerSettings

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TASKS = frozenset(routing.QUEUES)
INPUTS = 20_000
REASONS = {
    *("no_task", "unknown_task", "malformed", "invalid", "undecodable", "canvas", "postponed", "expired", "too_long"),
    "compressed",
}


@pytest.fixture(scope="module")
def channel() -> Any:
    with Connection("memory://") as connection:
        yield connection.default_channel


def configured() -> WorkerSettings:
    return WorkerSettings(cluster="test")


def message(channel: Any, raw: Message) -> Any:
    made = UncompressedMessage(raw, channel)
    made.accept = {"application/json"}
    return made


def reads(channel: Any, raw: Message) -> Any:
    made = message(channel, raw)
    envelope.read(made, TASKS, NOW)
    return made


def headed(**headers: Any) -> Message:
    made = whole("pod/a/b")
    return {**made, "headers": {**made["headers"], **headers}}


def embedding(embed: Any) -> Message:
    return {**whole("pod/a/b"), "body": encoded([["pod/a/b"], {}, embed])}


@pytest.mark.row("HO-01")
@pytest.mark.parametrize(
    "raw, reason, said",
    [
        (headed(shadow=[1, 2]), "malformed", "headers.shadow"),
        (headed(id=7), "malformed", "headers.id"),
        (headed(retries=10**9), "malformed", "headers.retries"),
        (headed(eta=5), "malformed", "headers.eta"),
        (headed(eta="2027-01-01T00:00:00"), "postponed", "headers.eta"),
        (headed(expires="2025-01-01T00:00:00"), "expired", "headers.expires"),
        (headed(timelimit=[1]), "malformed", "headers.timelimit"),
        (headed(task="celery.chord_unlock"), "unknown_task", "headers.task"),
        (headed(compression="zlib"), "compressed", "headers.compression"),
        (embedding(5), "malformed", "body"),
        (embedding({"errbacks": [7]}), "canvas", "errbacks"),
        (embedding({"chain": [{"task": "queue.tick"}]}), "canvas", "chain"),
        (embedding({"delivery_info": 7}), "malformed", "body"),
        ({**whole("k"), "headers": {}}, "no_task", "protocol 2"),
        ({**whole("k"), "content-type": "application/x-yaml"}, "invalid", "content-type"),
        ({**whole("k"), "content-encoding": "utf-16"}, "invalid", "content-encoding"),
        ({**whole("k"), "body": "x" * (envelope.LONGEST_BODY + 1)}, "too_long", "body"),
        ({**whole("k"), "body": "[" * 300 + "]" * 300}, "malformed", "body"),
        ({**whole("k"), "body": "[[" + "[" * 300 + "]" * 300 + "], {}, {}]"}, "malformed", "levels deep"),
    ],
)
def test_a_refusal_has_a_reason_and_names_the_element(channel: Any, raw: Message, reason: str, said: str) -> None:
    with pytest.raises(MessageRefused) as refused:
        reads(channel, raw)
    assert refused.value.reason == reason
    assert said in str(refused.value)


@pytest.mark.row("HO-01")
def test_a_refusal_keeps_nothing_of_the_messages_before(channel: Any) -> None:
    depths = set()
    for _ in range(5):
        with pytest.raises(MessageRefused) as refused:
            message(channel, headed(compression="zlib"))
        depths.add(len(refused.traceback))
    assert len(depths) == 1


@pytest.mark.row("HO-01")
def test_a_body_of_many_brackets_that_is_flat_is_taken(channel: Any) -> None:
    assert reads(channel, {**whole("k"), "body": encoded([[[]] * 10_000, {}, {}])})


@pytest.mark.row("HO-01")
def test_celery_is_given_nothing_that_was_not_read(channel: Any) -> None:
    raw = headed(shadow="another name", group="g", delivery_info=7, chord=CHORD, callbacks=[7], x={"y": 1})
    raw["properties"] |= {"reply_to": "elsewhere", "priority": 9, "x": [1]}
    raw["properties"]["delivery_info"] = {"exchange": "theirs", "routing_key": "theirs"}
    made = reads(channel, raw)
    assert not {"shadow", "delivery_info", "chord", "callbacks", "x"} & made.headers.keys()
    assert (made.headers["group"], made.properties) == (None, {"correlation_id": made.headers["id"], "priority": 0})
    assert made.delivery_info == {"exchange": "", "routing_key": routing.LATENCY}


CHORD = {"task": "queue.tick"}


@pytest.mark.row("HO-01")
def test_a_retry_of_ours_waits_for_seconds_whatever_a_clock_says(channel: Any) -> None:
    etas = {10: 10, 29: 29, 600: 30, 3600: 30}
    assert {s: (read_eta(channel, s) - NOW).total_seconds() for s in etas} == etas
    assert reads(channel, headed(eta=(NOW - timedelta(days=400)).isoformat())).headers["eta"] is None


def read_eta(channel: Any, seconds: int) -> datetime:
    made = reads(channel, headed(eta=(NOW + timedelta(seconds=seconds)).isoformat()))
    return datetime.fromisoformat(made.headers["eta"])


@pytest.mark.row("HO-01")
def test_what_celery_itself_sends_is_taken(channel: Any) -> None:
    """Also when a task retries."""
    app: Any = create_app(configured, ())
    sent = app.amqp.as_task_v2(
        "i-1", "slots.submit", ({},), {}, countdown=10, retries=3, root_id="i-0", origin="gen1@host", now=NOW
    )
    assert isinstance(sent, amqp.task_message)
    raw = {**whole("k"), "body": encoded(sent.body), "headers": orjson.loads(encoded(dict(sent.headers)))}
    made = reads(channel, raw)
    assert (made.headers["task"], made.headers["retries"], made.headers["root_id"]) == ("slots.submit", 3, "i-0")


@pytest.mark.row("HO-01")
def test_every_message_is_read_into_a_request_or_refused_with_a_reason(
    channel: Any, request: pytest.FixtureRequest
) -> None:
    """Whatever was read, Celery makes a request of, and the request says what it is."""
    app: Any = create_app(configured, ())
    app.finalize()
    task = app.task(name="tests.nothing")(nothing)
    ends, longest = Counter[str](), 0
    for raw in odd_messages(seed_of(request), INPUTS):
        try:
            entry: Message = json.loads(encoded(raw))
            made = reads(channel, entry)
        except MessageRefused as error:
            ends[error.reason] += 1
            longest = max(longest, len(str(error)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            ends["no message"] += 1  # of kombu: what transport_guard drops
        else:
            ends["read"] += 1
            asked = SettledRequest(made, app=app, task=task, headers=made.headers)
            assert isinstance(asked, Request)
            assert {type(asked.name), type(asked.id)} == {str}
            hash((asked.name, asked.id, asked.correlation_id))
            assert not any((asked.errbacks, asked.chord, asked.group))
    assert longest < 1000
    assert ends.keys() <= REASONS | {"no message", "read"}
    assert min(ends["read"], ends["malformed"], ends["canvas"], ends["undecodable"]) > INPUTS // 200


def nothing() -> None:
    pass


def seed_of(request: pytest.FixtureRequest) -> int:
    """The same each time; another one with `--hypothesis-profile=search`."""
    return random.randrange(2**32) if request.config.getoption("hypothesis_profile", None) == "search" else 13


class SilentChannel:
    """Takes acknowledgements and rejections."""

    no_ack_consumers: frozenset[str] = frozenset()

    def basic_ack(self, *_: Any, **__: Any) -> None:
        """Nothing is sent."""

    basic_reject = basic_ack


@pytest.mark.row("ST-42")
def test_a_message_that_is_settled_again_is_a_line_of_the_log_and_ends_no_worker() -> None:
    """Kombu's event loop passes on the error of a second settlement, which Celery takes for unrecoverable."""
    message: Any = type("Settled", (SettledOnce, KombuMessage), {})(channel=SilentChannel(), delivery_tag=1)
    message.ack_log_error(logging.getLogger(__name__), ())
    message.reject_log_error(logging.getLogger(__name__), ())
    message.ack_log_error(logging.getLogger(__name__), ())
    with pytest.raises(MessageStateError):
        message.reject()
    assert all(issubclass(kind, SettledOnce) for kind in (UncompressedMessage, UncompressedAmqpMessage))
