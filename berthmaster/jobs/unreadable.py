"""The slot ledger of a pod pool holds what is none of ours. Runners may write the keys of their pool, and so may
whoever reaches Redis: what is read is checked before it becomes a name, a key, a path or a number.

One pool that cannot be read is one pool: whoever goes over several goes on with the others.
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
    """Nothing is decided from it. It is worth another attempt: somebody may put it right."""


@contextmanager
def readable() -> Iterator[None]:
    """Whatever nonsense does to its reader is an UnreadableLedger. Also a decorator."""
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


def typed(value: Any, kind: type[T]) -> T:
    """The value, if it is of that type. Raises TypeError."""
    if not isinstance(value, kind):
        raise TypeError(f"{str(value)[:40]!r} is not {kind.__name__}")
    return value


def listed(values: Any) -> list[Any]:
    """Lua knows no empty list: it is written as an empty object. Raises TypeError."""
    return [] if values == {} else typed(values, list)


def texts(values: Any) -> tuple[str, ...]:
    return tuple(typed(value, str) for value in listed(values))


def name(value: Any) -> str:
    """Of an object of Kubernetes. Raises ValueError."""
    if not is_name(value):
        raise ValueError(f"{str(value)[:40]!r} is no name of an object")
    return value


def uid(value: Any) -> str:
    if not is_uid(value):
        raise ValueError(f"{str(value)[:40]!r} is no UID")
    return value
