"""The refusals of the API, with status, reason and wording of the real one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]


class ApiRefusal(Exception):  # noqa: N818 - an answer of the API, not a fault of ours
    """A request that the API refuses. `code`: the HTTP status."""

    def __init__(self, code: int, reason: str, message: str, details: Json | None = None) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details

    def status(self) -> Json:
        """Return the body of the answer, a Status."""
        body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message}
        return body | {"reason": self.reason, "code": self.code} | ({"details": self.details} if self.details else {})


def bad_request(message: str) -> ApiRefusal:
    """Return a 400."""
    return ApiRefusal(400, "BadRequest", message)


def unauthorized() -> ApiRefusal:
    """Return a 401."""
    return ApiRefusal(401, "Unauthorized", "Unauthorized")


def forbidden(what: str, why: str) -> ApiRefusal:
    """Return a 403. `what`: the resource, with the object's name if there is one."""
    return ApiRefusal(403, "Forbidden", f"{what} is forbidden: {why}")


def no_resource() -> ApiRefusal:
    """Return the 404 of a path that is not served."""
    return ApiRefusal(404, "NotFound", "the server could not find the requested resource")


def not_found(plural: str, name: str) -> ApiRefusal:
    """Return the 404 of a missing object."""
    return ApiRefusal(404, "NotFound", f'{plural} "{name}" not found', {"name": name, "kind": plural})


def method_not_allowed() -> ApiRefusal:
    """Return a 405."""
    return ApiRefusal(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def already_exists(plural: str, name: str) -> ApiRefusal:
    """Return the 409 of a create."""
    return ApiRefusal(409, "AlreadyExists", f'{plural} "{name}" already exists', {"name": name, "kind": plural})


def conflict(plural: str, name: str, why: str = "") -> ApiRefusal:
    """Return the 409 of a write. `why`: '' means that the object has a newer version."""
    why = why or "the object has been modified; please apply your changes to the latest version and try again"
    return ApiRefusal(409, "Conflict", f'Operation cannot be fulfilled on {plural} "{name}": {why}', {"name": name})


def expired() -> ApiRefusal:
    """Return the 410 of a version that is no longer known."""
    return ApiRefusal(410, "Expired", "The resourceVersion for the provided watch is too old.")


def media_type(content_type: str) -> ApiRefusal:
    """Return a 415."""
    return ApiRefusal(415, "UnsupportedMediaType", f"the body of the request was in an unknown format: {content_type}")


def invalid(kind: str, name: str, causes: Sequence[str]) -> ApiRefusal:
    """Return the 422 of an invalid object. `causes`: each "path: what is wrong", as the API words it."""
    text = causes[0] if len(causes) == 1 else f"[{', '.join(causes)}]"
    listed = [{"field": cause.partition(": ")[0], "message": cause.partition(": ")[2]} for cause in causes]
    return ApiRefusal(422, "Invalid", f'{kind} "{name}" is invalid: {text}', {"name": name, "causes": listed})


def unpatchable() -> ApiRefusal:
    """Return the 422 of a JSON patch that cannot be applied."""
    return ApiRefusal(422, "Invalid", "the server rejected our request due to an error in our request")
