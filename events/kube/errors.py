"""The errors of a Kubernetes API: one table from HTTP status and reason to a type.

Callers decide by type what to retry, what to read again and what to report. No other module reads status codes.
"""

# ruff: noqa: N818 - the names say what the API answered, and all are KubeError

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import orjson


class KubeError(Exception):
    """The API refused or did not answer. `status` is 0 when no HTTP answer arrived."""

    def __init__(self, status: int, reason: str, message: str, retry_after: timedelta | None = None) -> None:
        super().__init__(f"{status} {reason}: {message}" if status else message)
        self.status, self.reason, self.message, self.retry_after = status, reason, message, retry_after


class NotFound(KubeError):
    """No such object, or no such kind."""


class Conflict(KubeError):
    """The version or UID that the write named is not the object's: read the object again."""


class AlreadyExists(Conflict):
    """An object of this name exists."""


class Expired(KubeError):
    """The version (or `continue` token) is too old: list again."""


class Denied(KubeError):
    """Wrong credentials or missing permission."""


class Invalid(KubeError):
    """The object breaks its schema or a rule; a repetition does not help."""


class Unavailable(KubeError):
    """The API is overloaded, broken or unreachable. After status 0 or 5xx, a write may have happened."""


class Stalled(Unavailable):
    """A watch was silent for longer than its time-out."""


CONNECTION: Final = re.compile(r"^(HTTPS?Connection(Pool)?\(.*?\)|<[^>]*>): ")
"""How the HTTP client begins its messages: with its own object."""
USER: Final = re.compile(r"//[^/@]*@")
BY_REASON: Final[Mapping[tuple[int, str], type[KubeError]]] = {(409, "AlreadyExists"): AlreadyExists}
BY_STATUS: Final[Mapping[int, type[KubeError]]] = {
    400: Invalid,
    401: Denied,
    403: Denied,
    404: NotFound,
    405: Invalid,
    409: Conflict,
    410: Expired,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    429: Unavailable,
}


def error_of_status(status: Mapping[str, Any], code: int = 0) -> KubeError:
    """Return the error of a `Status`: the body of a refused request, or the object of a watch's `ERROR` line."""
    code = int(status.get("code") or code)
    reason = str(status.get("reason") or "Unknown")
    kind = BY_REASON.get((code, reason)) or BY_STATUS.get(code, Unavailable if code >= 500 else KubeError)
    seconds = (status.get("details") or {}).get("retryAfterSeconds")
    return kind(code, reason, str(status.get("message") or ""), timedelta(seconds=seconds) if seconds else None)


def error_of_response(code: int, body: bytes, retry_after: str | None) -> KubeError:
    """Return the error of an HTTP answer. Its body may be anything: proxies answer in HTML."""
    try:
        status = orjson.loads(body)
    except orjson.JSONDecodeError:
        status = None
    if not isinstance(status, dict) or status.get("kind") != "Status":
        status = {"reason": f"HTTP {code}", "message": body[:200].decode(errors="replace")}
    error = error_of_status({**status, "code": code})
    if error.retry_after is None and retry_after and retry_after.isdigit():
        error.retry_after = timedelta(seconds=int(retry_after))
    return error


def error_of_network(error: Exception, server: str) -> Unavailable:
    """Return the error for a request without an answer. `server`: its URL."""
    cause = CONNECTION.sub("", str(error))
    return Unavailable(0, type(error).__name__, f"{USER.sub('//', server)} does not answer: {cause}")
