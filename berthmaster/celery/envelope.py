"""What a worker takes from a queue: a message of Celery's protocol 2 that calls one of our tasks, and nothing else.

Celery trusts what a message says about itself, and uses it in places where nobody catches an error: in the thread that
runs the task, in the pool's callbacks, in the timer. So a message is read here once, before Celery turns it into a
request, and Celery receives only the checked parts.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from datetime import UTC, datetime, timedelta
from reprlib import Repr
from typing import Annotated, Any, Final

from kombu.exceptions import MessageStateError
from kombu.transport.pyamqp import Message as AmqpMessage
from kombu.transport.virtual import Message as VirtualMessage
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from berthmaster import routing, tracing
from berthmaster.forms import fault_in_words, form

CONTENT: Final = "application/json"
ENCODINGS: Final = frozenset({"utf-8", "utf8"})
LONGEST_BODY: Final = 4 * 1024 * 1024
"""Bytes. The longest job has 512 KiB of arguments, which grow at most sixfold when they are escaped in a text."""
DEEPEST_BODY: Final = 256
"""Levels. A job that a client may submit is less deep. Celery cannot send a much deeper one to a child of prefork."""
LONGEST_WAIT: Final = timedelta(seconds=30)
"""The longest wait that our own tasks ask for, when they retry. A message that waits longer is delivered again."""
LONGEST_POSTPONEMENT: Final = timedelta(hours=1)
"""Below it, an `eta` may come from a clock that differs from ours; above, somebody wants to schedule a task."""
CANVAS: Final = ("callbacks", "errbacks", "chain", "chord")
SHOWN: Final = 1024
"""Characters of a description that are kept."""

Id = Annotated[str, StringConstraints(pattern=form(r"^[!-~]{1,255}$", "1 to 255 visible characters of ASCII"))]
Text = Annotated[str, StringConstraints(max_length=65_536)]
Limits = Annotated[list[float | None], Field(min_length=2, max_length=2)]

brief = Repr()
brief.maxlevel, brief.maxdict, brief.maxlist = 2, 3, 3
brief.maxstring = brief.maxother = brief.maxlong = 100


class MessageRefused(ValueError):  # noqa: N818 - as in "refused message": an expected end of a message
    """`reason` is the label of the counter; the text says what is wrong, and the way out."""

    def __init__(self, reason: str, problem: str) -> None:
        self.reason = reason
        super().__init__(problem)


def compressed() -> MessageRefused:
    """Return a refusal of its own for each message: one that is raised again keeps the frames of all times before."""
    return MessageRefused("compressed", "headers.compression: send the body uncompressed")


class Headers(BaseModel):
    """The headers that Celery itself writes. Headers that are not listed are ignored; those of the second part are only
    checked.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    task: Annotated[str, StringConstraints(max_length=255)]
    id: Id
    retries: Annotated[int, Field(ge=0, le=100)] = 0
    eta: Text | None = None
    expires: Text | None = None
    root_id: Id | None = None
    parent_id: Id | None = None
    origin: Text | None = None
    argsrepr: Text | None = None
    kwargsrepr: Text | None = None
    traceparent: Text | None = None

    shadow: Text | None = None
    lang: Text | None = None
    group: Id | None = None
    group_index: int | None = None
    timelimit: Limits | None = None
    ignore_result: bool | None = None
    replaced_task_nesting: int | None = None
    stamped_headers: list[str] | None = None
    stamps: dict[str, Any] | None = None


class Properties(BaseModel):
    """The properties of a message that Celery reads. Our workers use none of them."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    correlation_id: Text | None = None
    reply_to: Text | None = None
    priority: int | None = None


class SettledOnce:
    """Mixed into a message of kombu: to settle it again is logged. It would end the worker, in its event loop."""

    def ack_log_error(self, logger: Any, errors: Any, multiple: bool = False) -> None:
        """Acknowledge; an error is logged."""
        message: Any = super()
        message.ack_log_error(logger, (*errors, MessageStateError), multiple=multiple)

    def reject_log_error(self, logger: Any, errors: Any, requeue: bool = False) -> None:
        """Reject; an error is logged."""
        message: Any = super()
        message.reject_log_error(logger, (*errors, MessageStateError), requeue=requeue)


class UncompressedMessage(SettledOnce, VirtualMessage):
    """A message of kombu that is not unpacked: a kilobyte may unpack to a gigabyte, and our senders do not compress."""

    def __init__(self, payload: Any, channel: Any = None, **options: Any) -> None:
        headers = payload.get("headers")
        if isinstance(headers, dict) and headers.get("compression"):
            raise compressed()
        super().__init__(payload, channel, **options)


class UncompressedAmqpMessage(SettledOnce, AmqpMessage):
    """The same of RabbitMQ, where kombu asks each message for its errors: what has one is not unpacked either."""

    def __init__(self, payload: Any, channel: Any = None, **options: Any) -> None:
        if (payload.properties.get("application_headers") or {}).get("compression"):
            self.errors = [(MessageRefused, compressed(), None)]
        super().__init__(payload, channel, **options)


def read(message: Any, tasks: Container[str], now: datetime) -> None:
    """Reduce the message to what its task needs. Raises MessageRefused; neither logs nor settles the message."""
    if not isinstance(message.headers, dict) or "task" not in message.headers:
        raise MessageRefused("no_task", "headers.task: missing; send with Celery's message protocol 2")
    headers = model(Headers, message.headers, "headers")
    if headers.task not in tasks:
        raise MessageRefused("unknown_task", f"headers.task: no task of ours is called {brief.repr(headers.task)}")
    model(Properties, message.properties or {}, "properties")
    check_body(message)
    expires, eta = time_of("expires", headers.expires), due(headers.eta, now)
    if expires and expires <= now:
        raise MessageRefused("expired", f"headers.expires: it was to run before {expires.isoformat()}")
    message.headers = kept(headers) | {"eta": eta and eta.isoformat()}
    message.properties = {"correlation_id": headers.id, "priority": 0}
    queue = routing.QUEUES.get(headers.task, routing.MAINTENANCE)  # where a retry goes
    message.delivery_info = {**as_mapping(message.delivery_info), "exchange": "", "routing_key": queue}


def model(of: type[Any], value: Any, part: str) -> Any:
    """Return `value` as a model of class `of`. Raises MessageRefused, which names the wrong fields below `part`."""
    try:
        return of.model_validate(value)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        problems = [f"{'.'.join([part, *map(str, fault['loc'])])}: {fault_in_words(fault)}" for fault in faults[:3]]
        raise MessageRefused("malformed", "; ".join(problems)) from None


def kept(headers: Headers) -> dict[str, Any]:
    """Return the headers without those that would rename, schedule or store a task: our tasks need none of them."""
    own = {"task": headers.task, "id": headers.id, "retries": headers.retries, "lang": "py"}
    own |= {"root_id": headers.root_id or headers.id, "parent_id": headers.parent_id, "group": None}
    own |= {"origin": (headers.origin or "")[:SHOWN], "ignore_result": True, "timelimit": [None, None]}
    own |= {"argsrepr": (headers.argsrepr or "")[:SHOWN], "kwargsrepr": (headers.kwargsrepr or "")[:SHOWN]}
    return own | ({tracing.HEADER: headers.traceparent} if headers.traceparent else {})


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return the value if it is a dict, else an empty one."""
    return value if isinstance(value, dict) else {}


# ---- times


def due(eta: str | None, now: datetime) -> datetime | None:
    """Return when the task shall run, None for at once. Retries wait for seconds, whatever another clock says."""
    time = time_of("eta", eta)
    if time is None or time <= now:
        return None
    if time - now > LONGEST_POSTPONEMENT:
        raise MessageRefused("postponed", "headers.eta: send the message when the task is due")
    return min(time, now + LONGEST_WAIT)


def time_of(field: str, text: str | None) -> datetime | None:
    """Return the header's time, aware and in UTC; None if the header is absent. Raises MessageRefused."""
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise MessageRefused("malformed", f"headers.{field}: {brief.repr(text)} is no time in ISO 8601") from None


# ---- the body


def check_body(message: Any) -> None:
    """Raise MessageRefused unless the body is JSON of a list, an object and an empty canvas."""
    check_content(message)
    parts = decoded(message)
    if not isinstance(parts, list) or len(parts) != 3:
        raise MessageRefused("malformed", "body: must be a list of arguments, named arguments and an embedded canvas")
    args, kwargs, embed = parts
    if not isinstance(args, list) or not isinstance(kwargs, dict) or not all(isinstance(name, str) for name in kwargs):
        raise MessageRefused("malformed", "body: arguments must be a list, named arguments an object")
    check_canvas(embed)
    if too_deep(message.body, parts):
        raise MessageRefused("malformed", f"body: more than {DEEPEST_BODY} levels deep")


def check_content(message: Any) -> None:
    """Raise MessageRefused unless the body is a text of JSON that is not too long."""
    if message.content_type != CONTENT:
        raise MessageRefused("invalid", f"content-type: {CONTENT} is taken, not {brief.repr(message.content_type)}")
    if not isinstance(message.content_encoding, str) or message.content_encoding.lower() not in ENCODINGS:
        raise MessageRefused("invalid", f"content-encoding: utf-8 is taken, not {brief.repr(message.content_encoding)}")
    if not isinstance(message.body, str | bytes | memoryview):
        raise MessageRefused("malformed", f"body: must be a text, not {type(message.body).__name__}")
    if len(message.body) > LONGEST_BODY:
        raise MessageRefused("too_long", f"body: {len(message.body)} bytes, at most {LONGEST_BODY} are taken")


def decoded(message: Any) -> Any:
    """Return the body as Python values. Raises MessageRefused."""
    try:
        return message.decode()
    except Exception as error:  # noqa: BLE001 - of the reader, of kombu's own types of JSON, or of too many levels
        raise MessageRefused("undecodable", f"body: {brief.repr(str(error))}") from None


def check_canvas(embed: Any) -> None:
    """Raise MessageRefused for a canvas: anyone who reaches the broker could make a worker call or publish anything."""
    if not isinstance(embed, dict) or not embed.keys() <= set(CANVAS):
        raise MessageRefused("malformed", f"body: the third part must be an object of {', '.join(CANVAS)}")
    if present := [name for name, value in embed.items() if value not in (None, [], {})]:
        raise MessageRefused(
            "canvas", f"body: {', '.join(present)}: workers run no canvas; send the next task yourself"
        )


def too_deep(body: Any, parts: list[Any]) -> bool:
    """Tell whether the values are nested too deeply. A text with few brackets is not searched."""
    text = bytes(body, "utf-8", "replace") if isinstance(body, str) else bytes(body)
    if text.count(b"[") + text.count(b"{") <= DEEPEST_BODY:
        return False
    level: list[Any] = [parts]
    for _ in range(DEEPEST_BODY):
        level = [value for container in level for value in inside(container) if isinstance(value, list | dict)]
    return bool(level)


def inside(value: Any) -> Any:
    """Return the values that a dict or list contains."""
    return value.values() if isinstance(value, dict) else value
