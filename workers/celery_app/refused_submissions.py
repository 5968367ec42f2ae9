"""Tell the sender of a job that nobody takes in. Celery gives its senders no result, so they read the pool's stream.

Rule refused: whoever refuses a submission writes why to the results of its pool, with the id of the sender's message:
the consumer, the check of the payload, or the task that gives up. A submission that names no pool is only logged.
"""

from __future__ import annotations

from typing import Any, Final

import structlog
from pydantic import TypeAdapter, ValidationError

from berthmaster.celery import envelope
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.submission import JobId, Pool
from berthmaster.redis.refusals import warn
from workers.wiring.process import Services

log = structlog.get_logger()
POOL: Final[TypeAdapter[str]] = TypeAdapter(Pool)
JOB: Final[TypeAdapter[str]] = TypeAdapter(JobId)
MESSAGE: Final[TypeAdapter[str]] = TypeAdapter(envelope.Id)


def tell_refusal(parts: Services, message: object, args: Any, kwargs: Any, why: str) -> None:
    """Write the refusal. `args` and `kwargs` are whatever the message has as arguments of the task."""
    job = submitted_job(args, kwargs)
    pool, identity = valid(POOL, job.get("pool")), valid(MESSAGE, message)
    if pool is None or identity is None:
        return
    try:
        SlotLedger(parts.redis, parts.slot_scripts, pool).refuse(identity, valid(JOB, job.get("id")), why)
    except Exception as error:  # noqa: BLE001 - the message has its end, and the worker goes on, whatever this is
        warn(log, "refusal_untold", error, pool=pool, message=identity)


def tell_refused_message(parts: Services, message: Any, why: str) -> None:
    """Write the refusal of a message that became no task, if its body can be read."""
    headers = envelope.as_mapping(message.headers)
    try:
        envelope.check_content(message)
        args, kwargs, *_ = envelope.decoded(message)
    except (envelope.MessageRefused, TypeError, ValueError):
        return
    tell_refusal(parts, headers.get("id"), args, kwargs, why)


def submitted_job(args: Any, kwargs: Any) -> dict[str, Any]:
    """Return the job of the arguments, {} if they have none."""
    first = args[0] if isinstance(args, list | tuple) and args else envelope.as_mapping(kwargs).get("job")
    return first if isinstance(first, dict) else {}


def valid(form: TypeAdapter[str], value: object) -> str | None:
    """Return the text if it has this form."""
    try:
        return form.validate_python(value, strict=True)
    except ValidationError:
        return None
