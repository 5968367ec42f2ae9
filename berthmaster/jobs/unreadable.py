"""Checks of the data in a slot ledger, which others can write: runners, and whoever reaches Redis.

What is read is checked before it becomes a name, a key, a path or a number. One unreadable pool does not stop work on
the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from redis.exceptions import ResponseError

from berthmaster.errors import TransientError
from berthmaster.names import is_name, is_uid

T = TypeVar("T")
LONGEST: Final = 200
PROBLEM: Final = "the slot ledger of the pool holds what Berthmaster did not write"
_OF_THE_SERVER: Final = re.compile("(?!WRONGTYPE )[A-Z]{3,} ")
"""An answer that says how the server is. Of a command or a script on nonsense it has no such word, or WRONGTYPE."""


class UnreadableLedger(TransientError):  # noqa: N818 - an expected state, as NotVerified
    """The ledger holds data that we did not write. Nothing is decided from it; somebody may repair it."""


@contextmanager
def readable() -> Iterator[None]:
    """Turn every error that foreign data causes into an UnreadableLedger. Also a decorator."""
    try:
        yield
    except ResponseError as error:
        if type(error) is not ResponseError or _OF_THE_SERVER.match(str(error)):
            raise
        raise _unreadable(error) from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> UnreadableLedger:
    why = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST]
    return UnreadableLedger(f"{PROBLEM} ({why}): see docs/operations.md")


def unreadable_record(job: str) -> str:
    """Return the words for a job whose stored record is none of ours."""
    return f"the record of job {job} cannot be read: see docs/operations.md"


def typed(value: Any, kind: type[T]) -> T:
    """Return the value if it has that type. Raises TypeError."""
    if not isinstance(value, kind):
        raise TypeError(f"{str(value)[:40]!r} is not {kind.__name__}")
    return value


def listed(values: Any) -> list[Any]:
    """Return the value as a list; Lua writes an empty list as an empty object. Raises TypeError."""
    return [] if values == {} else typed(values, list)


def texts(values: Any) -> tuple[str, ...]:
    """Return the values as texts. Raises ValueError when `values` is no list, or has anything but texts."""
    return tuple(typed(value, str) for value in listed(values))


def name(value: Any) -> str:
    """Return the value if it is the name of a Kubernetes object. Raises ValueError."""
    if not is_name(value):
        raise ValueError(f"{str(value)[:40]!r} is no name of an object")
    return value


def uid(value: Any) -> str:
    """Return the value if it is a UID. Raises ValueError."""
    if not is_uid(value):
        raise ValueError(f"{str(value)[:40]!r} is no UID")
    return value
