"""Answers requests of the pages. Nothing here blocks Flower's loop."""

from __future__ import annotations

import re
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final, cast

from flower.views import BaseHandler
from tornado.iostream import StreamClosedError
from tornado.web import HTTPError, StaticFileHandler, authenticated

from workers.fleet_pages.board import FleetBoard
from workers.fleet_pages.rights import Guarded

POLICY: Final = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",  # Bootstrap's signs are in its style sheet
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
PING: Final = 5.0
"""Seconds after which a viewer hears that nothing was read meanwhile."""
POSITION: Final = re.compile("([0-9a-z]{1,64}):([0-9]{1,18})")
"""BOOT:NUMBER."""
LONGEST_STREAM: Final = 120
"""Frames and pings of one stream; then the browser connects again, and must show that it still may."""


class FleetHandler(Guarded, BaseHandler):
    """A page of ours: no script but our own files, nothing from elsewhere."""

    @property
    def board(self) -> FleetBoard:
        """What all viewers see."""
        board: FleetBoard = cast(Any, self.application).board
        return board

    def set_default_headers(self) -> None:
        """Forbid all that the pages do not need."""
        super().set_default_headers()
        self.set_header("Content-Security-Policy", POLICY)
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("Cache-Control", "no-store")

    @property
    def base(self) -> str:
        """The path of the overview, with Flower's URL prefix."""
        return str(self.reverse_url("fleet"))


class HomeHandler(FleetHandler):
    """Leads from `/` to the overview."""

    @authenticated
    def get(self) -> None:
        """Redirect."""
        self.redirect(self.base)


class OverviewHandler(FleetHandler):
    """The overview."""

    @authenticated
    def get(self) -> None:
        """Show the page. Its script reads the board."""
        self.render("fleet_overview.html", base=self.base)


class BoardHandler(FleetHandler):
    """The whole board."""

    @authenticated
    async def get(self) -> None:
        """Send boot, number and all rows."""
        document = await self.board.whole()
        self.set_header("Content-Type", "application/json")
        self.set_header("Content-Encoding", "gzip")
        self.finish(document)


class ChangesHandler(FleetHandler):
    """The changes after a number, as a stream of server-sent events with `id: BOOT:NUMBER`.

    `alive`: the fleet was read, and nothing has changed. `late`: it was not read for a while. `reload`: the viewer must
    read the whole board again.
    """

    @authenticated
    async def get(self) -> None:
        """Send frames until the viewer goes."""
        asked = POSITION.fullmatch(self.request.headers.get("Last-Event-ID") or self.get_argument("from", ""))
        if not asked:
            raise HTTPError(HTTPStatus.BAD_REQUEST, "expected from=BOOT:NUMBER")
        self.set_header("Content-Type", "text/event-stream")
        self.set_header("X-Accel-Buffering", "no")
        with suppress(StreamClosedError):
            await self._stream(asked[1], int(asked[2]))

    async def _stream(self, boot: str, sequence: int) -> None:
        board = self.board
        for _ in range(LONGEST_STREAM):
            board.watch()
            if (frame := board.since(boot, sequence)) is None:
                await self._send(b"event: reload\ndata: {}\n\n")
                return
            if sequence != board.sequence:
                sequence = board.sequence
                await self._send(b"id: %b:%d\ndata: %b\n\n" % (board.boot.encode(), sequence, frame))
            elif not await board.changed(PING):
                await self._send(b"event: late\ndata: {}\n\n")
            elif sequence == board.sequence:
                await self._send(b"event: alive\ndata: {}\n\n")

    async def _send(self, text: bytes) -> None:
        self.write(text)
        await self.flush()  # waits for a slow viewer, who then gets one merged frame

    def on_connection_close(self) -> None:
        """End quietly: the next write finds out."""


class StaticHandler(Guarded, StaticFileHandler):
    """Our scripts and styles. Browsers ask each time whether a file has changed."""

    def set_extra_headers(self, path: str) -> None:
        """Let no browser use a file of an older version."""
        del path
        self.set_header("Cache-Control", "no-cache")
        self.set_header("X-Content-Type-Options", "nosniff")
