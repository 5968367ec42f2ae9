"""Who may decide. Whoever Flower lets in may look; every request that changes something asks here, Flower's own too."""

from __future__ import annotations

from base64 import b64decode
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final, cast

from flower.views.tasks import TasksDataTable
from tornado.web import HTTPError, RequestHandler

READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
EVERYBODY: Final = "*"


class Guarded(RequestHandler):
    """Mixed into every handler of the server: no framing, and no change without the right to decide."""

    def set_default_headers(self) -> None:
        """Let no other page show this one in a frame."""
        super().set_default_headers()
        self.set_header("X-Frame-Options", "DENY")
        self.set_header("Content-Security-Policy", "frame-ancestors 'none'")

    async def prepare(self) -> None:
        """Refuse a request that changes something from somebody who may only look."""
        prepared = super().prepare()
        if prepared is not None:
            await prepared
        reads = self.request.method in READS or isinstance(self, TasksDataTable)  # which people read by POST
        if not (self._finished or reads or self.may_decide):
            raise HTTPError(HTTPStatus.FORBIDDEN, "You may look, and not decide.")

    def get_current_user(self) -> Any:
        """Return whom Flower knows. It compares no other passwords than those of ASCII; any other is a wrong one."""
        try:
            return super().get_current_user()
        except TypeError:
            raise HTTPError(HTTPStatus.UNAUTHORIZED) from None

    @property
    def person(self) -> str | None:
        """The name that the person has logged in with. None: the server asks nobody who they are."""
        user: object = self.current_user  # raises HTTPError for a wrong password
        if isinstance(user, str):
            return user
        if not user or not options_of(self).basic_auth:
            return None
        _, _, credentials = self.request.headers.get("Authorization", "").partition(" ")
        return b64decode(credentials).decode().partition(":")[0] or None

    @property
    def may_decide(self) -> bool:
        """Whether this person may change something: never without a name, and never in a server that is read-only."""
        if options_of(self).read_only:
            return False
        deciders: frozenset[str] = cast(Any, self.application).deciders
        person = self.person
        return person is not None and (EVERYBODY in deciders or person in deciders)


def options_of(handler: RequestHandler) -> Any:
    """Return the options of the Flower that a handler belongs to."""
    return cast(Any, handler.application).options


@lru_cache(maxsize=256)
def guarded(handler: type[RequestHandler]) -> type[RequestHandler]:
    """Return the handler with the guard before it."""
    return handler if issubclass(handler, Guarded) else type(handler.__name__, (Guarded, handler), {})
