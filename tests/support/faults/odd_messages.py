"""Messages of Celery that are as they must be but for one element, or two; the same ones for the same seed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any, Final

import orjson

from berthmaster import routing

Message = dict[str, Any]
DEEP: Final = '{"a":' * 5000 + "1" + "}" * 5000
CANVAS: Final[dict[str, Any]] = {"task": "queue.tick", "args": [], "kwargs": {}, "options": {}, "subtask_type": None}
VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 5, 2**31, 2**63 - 1, -(2**63), 1.5, float("nan"), float("inf")),
    *("", " ", "x", "x" * 70_000, "\ud800", "\x00\x1b[2J", "é", "never", "2999-01-01T00:00:00", "0001-01-01T00:00:00"),
    *("9999-12-31T23:59:59+00:00", "../../etc/passwd", "celery.map", "zlib", "base64", "utf-16", "application/data"),
    *([], [[]], [1, 2], [None, None], [7], ["args"], {}, {"a": 1}, {"__type__": "uuid", "__value__": "no"}, [CANVAS]),
    *(CANVAS, {"chord": 1}, [[[[[[1]]]]]]),
)
HEADERS: Final = (
    *("lang", "task", "id", "root_id", "parent_id", "group", "group_index", "retries", "eta", "expires", "timelimit"),
    *("argsrepr", "kwargsrepr", "origin", "ignore_result", "shadow", "stamps", "stamped_headers", "meth", "callbacks"),
    *("replaced_task_nesting", "traceparent", "delivery_info", "is_eager", "hostname", "chord", "errbacks", "x"),
    *(
        "compression",
        "berthmaster",
        "reply_to",
        "correlation_id",
        "args",
        "kwargs",
        "properties",
        "chain",
        "redelivered",
    ),
)
PROPERTIES: Final = ("correlation_id", "reply_to", "delivery_mode", "priority", "body_encoding", "expiration", "x")
PLACES: Final = ("exchange", "routing_key", "redelivered", "consumer_tag", "x")
TOP: Final = ("body", "content-type", "content-encoding", "headers", "properties")
EMBEDDED: Final = ("callbacks", "errbacks", "chain", "chord", "x")
PROTOCOL_1: Final = '{"task":"queue.tick","id":"x","args":[],"kwargs":{}}'
TEXTS: Final = ("", "{", "[]", "{}", "[[],{}]", "[[],{},{},{}]", '["args",{},{}]', "7", DEEP, PROTOCOL_1)
NAMED: Final[tuple[Message, ...]] = ({"headers": {"shadow": [1, 2]}}, {"embed": 5}, {"embed": {"errbacks": [7]}})
"""Three that took a thread away for ever: the headers, and the third part of the body."""


def whole(key: str) -> Message:
    made: Message = orjson.loads(routing.message(routing.PORTS_RECONCILE, key))
    return made


def named(key: str, change: Message) -> Message:
    made = whole(key)
    made["headers"] |= change.get("headers", {})
    if "embed" in change:
        made["body"] = orjson.dumps([["pod/NO/name"], {}, change["embed"]]).decode()
    return made


def odd_messages(seed: int, number: int) -> Iterator[Message]:
    """So many. Each that is taken all the same asks for a key that is clean."""
    chance = random.Random(seed)
    for n in range(number):
        made = named(f"pod/odd/m-{n}", NAMED[n]) if n < len(NAMED) else whole(f"pod/odd/m-{n}")
        for _ in range(0 if n < len(NAMED) else chance.choice((1, 1, 2))):
            change(chance, made)
        yield made


def change(chance: random.Random, made: Message) -> None:
    value, properties, headers = chance.choice(VALUES), made["properties"], made["headers"]
    match chance.randrange(6):
        case 0 | 1 if isinstance(headers, dict):
            headers[chance.choice(HEADERS)] = value
        case 2 if isinstance(properties, dict):
            properties[chance.choice(PROPERTIES)] = value
        case 3 if isinstance(properties, dict) and isinstance(properties.get("delivery_info"), dict):
            properties["delivery_info"][chance.choice(PLACES)] = value
        case 4:
            made["body"] = body(chance, value)
        case _:
            made[chance.choice(TOP)] = value


def body(chance: random.Random, value: Any) -> str:
    """Parts of it changed, or its text, or cut."""
    parts: list[Any] = [["pod/odd/body"], {}, dict.fromkeys(EMBEDDED[:4])]
    match chance.randrange(5):
        case 0:
            parts[chance.randrange(3)] = value
        case 1:
            parts[2][chance.choice(EMBEDDED)] = value
        case 2:
            parts[0] = [value]
        case 3:
            return chance.choice(TEXTS)
    text = encoded(parts)
    return text[: chance.randrange(len(text))] if chance.random() < 0.2 else text


def encoded(message: Any) -> str:
    """As json does it: also halves of characters, numbers that are none, and what is longer than 64 bits."""
    return json.dumps(message)
