"""The payloads of tasks. Each is validated before anything else is done.

Other services send these too, so an error names the field. A bad payload ends there: counted, logged, acknowledged. It
is never repeated, because it would be as bad the next time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Annotated, Any, Final, TypeVar

import structlog
from celery import Task, current_task
from celery.exceptions import Reject
from pydantic import Field, StringConstraints, ValidationError

from berthmaster import tracing
from berthmaster.celery.envelope import brief
from berthmaster.celery.settlement import SETTLED
from berthmaster.forms import A_NAME, form
from berthmaster.jobs.payload import Payload
from berthmaster.jobs.submission import faults
from berthmaster.kinds import POD, POD_POOL, PORT_POOL, ResourceKind
from berthmaster.names import NAME
from workers.telemetry import metrics
from workers.telemetry.task_summary import summarise

log = structlog.get_logger()
Name = Annotated[str, StringConstraints(pattern=form(rf"^{NAME}$", A_NAME))]


MOST_PROBLEMS: Final = 5
SHOWN: Final = 100


class Nothing(Payload):
    """No fields: the payload of a periodic task."""


class ReconcileKey(Payload):
    """A request to reconcile a key."""

    key: str
    requested: bool = False
    """The key is marked in the same step, so that it runs even if nothing has changed."""


def key_of(kind: ResourceKind) -> Any:
    """Describes a field that takes the keys of this kind and no others."""
    return Field(pattern=form(f"^{kind.key_pattern}$", kind.key_form), description=f"`{kind.key_form}`")


class ReconcilePod(ReconcileKey):
    """A request to reconcile the ports of a pod."""

    key: Annotated[str, key_of(POD)]


class ReconcilePool(ReconcileKey):
    """A request to reconcile a port pool."""

    key: Annotated[str, key_of(PORT_POOL)]


class ReconcilePodPool(ReconcileKey):
    """A request to reconcile a pod pool."""

    key: Annotated[str, key_of(POD_POOL)]


class ScaleUp(Payload):
    """A request to scale a port pool up."""

    pool: Name
    """Name of the port pool."""

    epoch: Annotated[str, StringConstraints(pattern=form(r"^[0-9]{1,20}$", "a number of up to 20 digits"))]
    """The capacity epoch that the failed allocation saw."""

    token: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    """Of the one request that an epoch has."""


class BeginDrain(Payload):
    """A hint: keys are ready."""

    hint: Annotated[str, StringConstraints(max_length=100)]
    """Its id. One that is unknown begins a drain as well."""


class PayloadRefused(Exception):  # noqa: N818 - as in "refused payload": an expected end of a task
    """The payload is not what the task accepts. The message names each wrong field."""


class CheckedTask(Task):  # type: ignore[type-arg]  # Celery's own class is not generic when it runs
    """A refused payload is an ordinary end, without a traceback; a lost child of prefork is retried a little."""

    Request = SETTLED
    throws = (PayloadRefused,)
    default_retry_delay = 5
    max_retries = 5

    def retry(self, *args: Any, **options: Any) -> Any:
        """Retry the task. If that message cannot be sent, the original is requeued; Celery would drop it."""
        try:
            return super().retry(*args, **options)
        except Reject as error:
            rejection: Any = error
            raise Reject(rejection.reason, requeue=True) from error


P = TypeVar("P", bound=Payload)


def takes(
    model: type[P], discard: Callable[[object], None] = lambda _: None
) -> Callable[[Callable[[P], None]], Callable[..., str | None]]:
    """Turn a function of a payload into one that Celery can call with whatever a message contained.

    `discard` is called with the key that an invalid payload names.
    """

    def asked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> P:
        try:
            return read(model, args, kwargs)
        except PayloadRefused:
            discard(args[0] if args else kwargs.get("key"))
            raise

    def checked(run: Callable[[P], None]) -> Callable[..., str | None]:
        def task(*args: Any, **kwargs: Any) -> str | None:
            with traced(model, args):
                return summarise(lambda: run(asked(args, kwargs)))

        task.__name__, task.__doc__, task.__module__ = run.__name__, run.__doc__, run.__module__
        return task

    return checked


def traced(model: type[Payload], args: tuple[Any, ...]) -> AbstractContextManager[Any]:
    """Open the span of a task, below the sender's. Ticks have none, because they come each second, nor do drains: each
    of their keys has one.

    A span names a key, and never the content of a job, which may be secret.
    """
    if model in (Nothing, BeginDrain) or not current_task:
        return tracing.OFF
    about = {"key": args[0]} if args and isinstance(args[0], str) else {}
    return tracing.span(current_task.name, current_task.request.get(tracing.HEADER), **about)


def read(model: type[P], args: tuple[Any, ...], kwargs: dict[str, Any]) -> P:
    """Validate the payload. Raises PayloadRefused, which names each wrong field and its fault."""
    names = list(model.model_fields)
    surplus = {f"argument {number + 1}": arg for number, arg in enumerate(args) if number >= len(names)}
    named = dict(zip(names, args, strict=False))
    twice = {f"{name} (given twice)": kwargs[name] for name in named.keys() & kwargs.keys()}
    try:
        return model.model_validate({**kwargs, **named, **surplus, **twice})
    except ValidationError as error:
        key = named.get("key", kwargs.get("key")) if issubclass(model, ReconcileKey) else None
        raise refused(model, error, key) from None


def refused(model: type[Payload], error: ValidationError, key: object = None) -> PayloadRefused:
    """Show a key, and nothing of a job, which may be secret."""
    problems = {field[:SHOWN]: problem for field, problem in list(faults(error).items())[:MOST_PROBLEMS]}
    metrics.PAYLOADS_REFUSED.labels(model.__name__).inc()
    about = {"key": brief.repr(key)} if key is not None else {}
    message = current_task.request.id if current_task else None
    log.warning("payload_refused", payload=model.__name__, problems=problems, message=message, **about)
    return PayloadRefused("; ".join(f"{field}: {problem}" for field, problem in problems.items()))
