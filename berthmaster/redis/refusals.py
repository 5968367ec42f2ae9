"""Answers of Redis that mean "not now", and connections that treat such an answer as a lost connection.

A server that is demoted, full, busy or loading answers with an error for seconds or minutes, and then works again.
redis-py and kombu treat most of these errors as faults of the command: the process ends and loses its work. A
`RefusedError` is a ConnectionError, so code that survives a lost connection survives a refusal as well.

The refusal is recognised where the parser creates the exception. So an ordinary answer costs nothing more, and errors
inside the reply of a transaction are recognised too, with every parser of redis-py.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from redis import Redis
from redis._parsers import _HiredisParser as HiredisParser
from redis.exceptions import ConnectionError as RedisConnectionError

from berthmaster.logger import get_logger

log = get_logger(__name__)

CODES: Final = frozenset(
    {
        *("READONLY", "MASTERDOWN", "NOREPLICAS", "UNBLOCKED"),  # it is a replica, or about to be one
        *("OOM", "MISCONF"),  # it has no room: in memory, on its disk
        *("LOADING", "BUSY", "UNKILLABLE"),  # it reads its data, or runs a script
        *("CLUSTERDOWN", "TRYAGAIN"),
    }
)
NO_ROOM: Final = "ERR max number of clients"
ABORTED: Final = "EXECABORT Transaction discarded because of: "
PROOF: Final = "berthmaster:takes-writes"
QUIET: Final = 10.0
"""Seconds without a refusal after which a spell is over: longer than any process waits before it tries again."""


class RefusedError(RedisConnectionError):
    """Redis refuses the command for now."""


def refusal(text: str) -> str | None:
    """Return the code of an error's text if it means "not now". Scripts and transactions pass on the code that refused
    them.
    """
    if text.startswith(NO_ROOM):
        return "max clients"
    code = text.removeprefix(ABORTED).partition(" ")[0]
    return code if code in CODES else None


def refused(error: BaseException | None) -> bool:
    """Tell whether a refusal caused the error, which kombu and Celery may have wrapped."""
    return caused(error, RefusedError)


def caused(error: BaseException | None, by: type[BaseException]) -> bool:
    """Tell whether the error, or one that led to it, is a `by`."""
    while error is not None:
        if isinstance(error, by):
            return True
        error = error.__cause__ or error.__context__
    return False


def warn(log: Any, event: str, error: BaseException | None, /, **facts: object) -> None:
    """Log a failure, unless a refusal caused it: a spell has only two lines."""
    if not refused(error):
        log.warning(event, **{"error": str(error), **facts})


def prove(redis: Redis) -> None:
    """Raise RefusedError when Redis takes no writes now, which a read does not show."""
    redis.set(PROOF, b"", px=1000)


class Refusable:
    """Mixed into a connection class of redis-py."""

    def set_parser(self, parser_class: Any) -> None:
        """Set a parser that makes a RefusedError of each refusal."""
        connection: Any = super()
        connection.set_parser(parser_class)
        parser: Any = self.__dict__["_parser"]
        parser.parse_error = recognising(parser.parse_error)
        if issubclass(parser_class, HiredisParser):
            parser.read_response = raising(parser.read_response)


def recognising(parse: Callable[[str], Exception]) -> Callable[[str], Exception]:
    """Return a `parse` that makes a RefusedError of a refusal, and notes the refusal in the spell."""

    def parse_error(text: str) -> Exception:
        if code := refusal(text):
            spell.note(code)
            return RefusedError(f"Redis refuses for now: {text}", status_code=code)
        return parse(text)

    return parse_error


def raising(read: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `read`: raise a refusal inside the reply of a transaction.

    hiredis leaves such an error in the reply, and redis-py raises only the error of the command itself.
    """

    def read_response(*args: Any, **options: Any) -> Any:
        reply = read(*args, **options)
        if isinstance(reply, list):
            for part in reply:
                if isinstance(part, RefusedError):
                    raise part
        return reply

    return read_response


class Spell:
    """A time in which Redis refuses this process: a line of the log when it begins, and one when it is over."""

    def __init__(self, quiet: float = QUIET, clock: Callable[[], float] = time.monotonic) -> None:
        self._quiet, self._clock, self._lock = quiet, clock, threading.Lock()
        self._began = self._last = 0.0
        self.answers: Counter[str] = Counter()

    @property
    def lasts(self) -> float | None:
        """Seconds since the spell began; None outside of a spell."""
        return self._clock() - self._began if self.answers else None

    def note(self, code: str) -> None:
        """Count a refusal with the error code `code`; the first one begins the spell and is logged."""
        with self._lock:
            self._last = self._clock()
            begins = not self.answers
            self.answers[code] += 1
            if begins:
                self._began = self._last
        if begins:
            log.warning("redis_refuses", answer=code)
            threading.Thread(target=self._outlast, name="redis-spell", daemon=True).start()

    def _outlast(self) -> None:
        while (rest := self._last + self._quiet - self._clock()) > 0:
            time.sleep(rest)
        with self._lock:
            seconds, answers = self._last - self._began, dict(self.answers)
            self.answers.clear()
        log.warning("redis_accepts", seconds=round(seconds, 1), refusals=answers)


spell: Final = Spell()
"""The spell of this process."""
