"""From an HTTP answer to a type."""

from __future__ import annotations

from datetime import timedelta

import pytest

from events.kube.api import AlreadyExists, Conflict, Denied, Expired, Invalid, KubeError, NotFound, Unavailable
from events.kube.errors import error_of_response, error_of_status


@pytest.mark.parametrize(
    "code, reason, kind",
    [
        (400, "BadRequest", Invalid),
        (401, "Unauthorized", Denied),
        (403, "Forbidden", Denied),
        (404, "NotFound", NotFound),
        (405, "MethodNotAllowed", Invalid),
        (409, "Conflict", Conflict),
        (409, "AlreadyExists", AlreadyExists),
        (410, "Expired", Expired),
        (410, "Gone", Expired),
        (415, "UnsupportedMediaType", Invalid),
        (418, "Teapot", KubeError),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", Unavailable),
        (500, "InternalError", Unavailable),
        (503, "ServiceUnavailable", Unavailable),
        (504, "Timeout", Unavailable),
    ],
)
def test_status_and_reason_decide_the_type(code: int, reason: str, kind: type[KubeError]) -> None:
    error = error_of_status({"kind": "Status", "code": code, "reason": reason, "message": "why"})
    assert type(error) is kind
    assert (error.status, error.reason, error.message) == (code, reason, "why")


def test_what_exists_already_is_a_conflict_too() -> None:
    assert issubclass(AlreadyExists, Conflict)


def test_the_time_to_come_back_is_taken_from_the_body_or_else_the_header() -> None:
    body = b'{"kind":"Status","reason":"TooManyRequests","details":{"retryAfterSeconds":3}}'
    assert error_of_response(429, body, "9").retry_after == timedelta(seconds=3)
    assert error_of_response(429, b"slow down", "9").retry_after == timedelta(seconds=9)
    assert error_of_response(429, b"slow down", "Wed, 21 Oct 2026 07:28:00 GMT").retry_after is None


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b'{"kind":"Pod"}', b"\xff\xfe"])
def test_any_body_gives_an_error(body: bytes) -> None:
    assert type(error_of_response(502, body, None)) is Unavailable
