"""A job as a client asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pydantic import BaseModel

    from berthmaster.jobs.submission import Submission

M = TypeVar("M", bound="BaseModel")


@dataclass(frozen=True)
class Request:
    """A job: `phases` of a Celery task of the runners, on one slot of pod pool `pool` (namespace/name).

    `queue_timeout`: how long it may wait for its first start, `run_timeout`: how long each attempt of a phase may run;
    1 second to 8,760 hours. A job over its time ends as `timed_out`. None: as the spec of the pool says.
    """

    id: str
    pool: str
    task: str
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    phases: Sequence[str] = ("plan",)
    serial_key: str = ""
    priority: int = 5
    when_lost: str = "requeue"
    queue_timeout: timedelta | None = None
    run_timeout: timedelta | None = None

    def __post_init__(self) -> None:
        """Refuse here what a worker would refuse: here the caller learns it at once.

        The arguments are plain JSON from here on, so that each way of submitting the job submits the same.
        """
        submission = self.submission()
        object.__setattr__(self, "args", submission.args)
        object.__setattr__(self, "kwargs", submission.kwargs)

    def encoded(self) -> dict[str, Any]:
        """Return the job as the payload of the submit task: lists and dicts only. Raises ValueError.

        A time limit that is not there is left out: workers of an earlier version know none.
        """
        kwargs = dict(self.kwargs) if isinstance(self.kwargs, Mapping) else self.kwargs
        limits = {"queue_timeout": self.queue_timeout, "run_timeout": self.run_timeout}
        others = {name: value for name, value in self.__dict__.items() if name not in limits}
        lengths = {name: limit_of(name, length) for name, length in limits.items() if length is not None}
        return {**others, "args": listed(self.args), "kwargs": kwargs, "phases": listed(self.phases), **lengths}

    def submission(self) -> Submission:
        """Return the job as a worker reads it. Raises ValueError."""
        from berthmaster.jobs.submission import Submission  # here: pydantic takes long to load

        return check(Submission, self.encoded())


def limit_of(name: str, length: Any) -> float:
    """Return a time limit in seconds. Raises ValueError for anything but a timedelta: a number has no unit."""
    if not isinstance(length, timedelta):
        raise ValueError(f"{name}: must be a timedelta, such as timedelta(minutes=10), not {length!r}")
    return length.total_seconds()


def listed(value: Any) -> Any:
    """Return a sequence as a list. Text is returned unchanged, and so is any other value."""
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str | bytes) else value


def check(model: type[M], fields: Mapping[str, Any]) -> M:
    """Return the model of the fields. Raises ValueError, which names each wrong field, unless they fit."""
    from pydantic import ValidationError  # here: it takes long to load

    from berthmaster.jobs.submission import faults

    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise ValueError("; ".join(f"{field}: {problem}" for field, problem in faults(error).items())) from None
