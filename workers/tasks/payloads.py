"""What each task may be asked. Every payload is checked before anything else is done.

Other services send these too, so an error names the field, and a bad payload ends there: counted, logged,
acknowledged. It is never repeated, because it would be as bad the next time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Annotated, Any, TypeVar

import structlog
from celery import Task, current_task
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from domain.names import NAME
from events import tracing
from workers import metrics
from workers.jobs.submission import faults
from workers.task_story import told

log = structlog.get_logger()
Name = Annotated[str, StringConstraints(pattern=rf"^{NAME}$")]


class Payload(BaseModel):
    """Arguments of a task, in the order of the fields or by name."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


class Nothing(Payload):
    pass


class ReconcileKey(Payload):
    key: str
    requested: bool = False
    """A service asks, no hint: the key is marked first, so that it is run whether or not something changed."""


class ReconcilePod(ReconcileKey):
    key: Annotated[str, StringConstraints(pattern=rf"^pod/{NAME}/{NAME}$")]
    """`pod/NAMESPACE/NAME`"""


class ReconcilePool(ReconcileKey):
    key: Annotated[str, StringConstraints(pattern=rf"^portpool/{NAME}$")]
    """`portpool/NAME`"""


class ScaleUp(Payload):
    pool: Name
    """Name of the port pool."""

    epoch: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,20}$")]
    """The capacity epoch that the failed allocation saw."""

    token: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    """Of the one request that an epoch has."""


class SweepLost(Payload):
    sent: Annotated[int, Field(gt=0, lt=2**53)]
    """When this message was sent, in ms of Redis's clock."""


class PayloadRefused(Exception):  # noqa: N818 - as in "refused payload": an expected end of a task
    """The payload is not what the task takes. The message names each field."""


class CheckedTask(Task):  # type: ignore[type-arg]  # Celery's own class is not generic when it runs
    """A refused payload is an ordinary end, without a traceback; a lost child of prefork is retried a little."""

    throws = (PayloadRefused,)
    default_retry_delay = 5
    max_retries = 5


P = TypeVar("P", bound=Payload)


def takes(model: type[P]) -> Callable[[Callable[[P], None]], Callable[..., str | None]]:
    """Makes a function of a payload into one that Celery can call with whatever came in a message."""

    def checked(run: Callable[[P], None]) -> Callable[..., str | None]:
        def task(*args: Any, **kwargs: Any) -> str | None:
            with traced(model, args):
                return told(lambda: run(read(model, args, kwargs)))

        task.__name__, task.__doc__, task.__module__ = run.__name__, run.__doc__, run.__module__
        return task

    return checked


def traced(model: type[Payload], args: tuple[Any, ...]) -> AbstractContextManager[Any]:
    """The span of a task, below that of who sent it; ticks have none, they come each second.

    It names a key, and never what a job was given, which may be secret.
    """
    if model is Nothing or not current_task:
        return tracing.OFF
    about = {"key": args[0]} if args and isinstance(args[0], str) else {}
    return tracing.span(current_task.name, current_task.request.get(tracing.HEADER), **about)


def read(model: type[P], args: tuple[Any, ...], kwargs: dict[str, Any]) -> P:
    """Raises PayloadRefused, which says of each field what is wrong with it."""
    names = list(model.model_fields)
    surplus = {f"argument {number + 1}": arg for number, arg in enumerate(args) if number >= len(names)}
    named = dict(zip(names, args, strict=False))
    twice = {f"{name} (given twice)": kwargs[name] for name in named.keys() & kwargs.keys()}
    try:
        return model.model_validate({**kwargs, **named, **surplus, **twice})
    except ValidationError as error:
        raise refused(model, error) from None


def refused(model: type[Payload], error: ValidationError) -> PayloadRefused:
    problems = faults(error)
    metrics.PAYLOADS_REFUSED.labels(model.__name__).inc()
    log.warning("payload_refused", payload=model.__name__, problems=problems)
    return PayloadRefused("; ".join(f"{field}: {problem}" for field, problem in problems.items()))
