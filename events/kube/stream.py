"""Read complete lines from a streaming HTTP answer, as many at a time as have arrived.

The API server sends every watch event as a chunk of its own. Reading chunk by chunk (as http.client and urllib3 do)
gives one line a call and no way to know whether more have arrived, so no caller could work in batches. This module
reads the connection's buffer, and removes the chunk headers afterwards.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from select import POLLIN, poll
from typing import Any, Final

from urllib3 import BaseHTTPResponse

from events.kube.errors import Stalled

BLOCK: Final = 1 << 18
"""Maximum of bytes a read. More than a TLS record (16 KiB): decrypted bytes must not stay unread at a quiet socket."""


class Chunked:
    """Removes the framing of `Transfer-Encoding: chunked` from bytes that arrive in any pieces."""

    def __init__(self) -> None:
        self.left, self.rest, self.ended = 0, b"", False

    def decode(self, data: bytes) -> bytes:
        """Return the payload among these bytes. The last chunk sets `ended`."""
        data, self.rest = self.rest + data if self.rest else data, b""
        at, payload = 0, []
        while at < len(data) and not self.ended:
            if self.left:
                payload.append(data[at : at + self.left])
                at += len(payload[-1])
                self.left -= len(payload[-1])
                continue
            end = data.find(b"\r\n", at)
            if end < 0:
                self.rest = data[at:]
                break
            if line := data[at:end]:  # an empty line ends the previous chunk
                self.left = int(line.partition(b";")[0], 16)
                self.ended = self.left == 0
            at = end + 2
        return b"".join(payload)


class LineBuffer:
    """Splits payload into lines, and keeps an unfinished line until its end arrives."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that `data` completes, without empty ones."""
        complete, newline, tail = data.rpartition(b"\n")
        if not newline:
            self.pieces.append(data)
            return []
        whole, self.pieces = b"".join([*self.pieces, complete]), [tail]
        return [line for line in whole.split(b"\n") if line]


class Wire:
    """The undecoded body of one answer, read as it arrives."""

    def __init__(self, response: BaseHTTPResponse, timeout: float) -> None:
        """Register the socket for polling. `timeout` (seconds) also limits a read that has begun."""
        # The only way past urllib3's own chunk-wise reading; `fp` is the buffered reader over the socket.
        raw: Any = response._fp  # type: ignore[attr-defined]  # private to urllib3
        self.file, self.timeout, self.socket = raw.fp, timeout, getattr(response.connection, "sock", None)
        self.poll = poll()
        self.poll.register(response.fileno(), POLLIN)

    def blocks(self, idle: float) -> Iterator[bytes]:
        """Yield what has arrived; b"" after `idle` s of silence. Ends with the connection. Raises Stalled."""
        if head := self.behind_headers():
            yield head
        last_byte = time.monotonic()
        while True:
            if self.poll.poll(min(idle, self.timeout) * 1000):
                if not (data := self.read()):
                    return
                last_byte = time.monotonic()
                yield data
            elif time.monotonic() - last_byte >= self.timeout:
                raise Stalled(0, "Stalled", f"no byte for {self.timeout} s")
            else:
                yield b""

    def read(self) -> bytes:
        """Read at least once, and on while there is more (TLS: one event a read), up to BLOCK. b"" at the end."""
        pieces: list[bytes] = []
        size = 0
        while size < BLOCK and (not pieces or self.poll.poll(0)):
            try:
                piece = self.file.read1(BLOCK)
            except TimeoutError as error:
                raise Stalled(0, "Stalled", f"a record did not go on for {self.timeout} s") from error
            if not piece:
                break
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)

    def behind_headers(self) -> bytes:
        """Return the bytes that came with the headers: they are in the reader's buffer, where no poll finds them."""
        if self.socket is None:
            return self.read()
        self.socket.settimeout(0)
        try:
            waiting = self.file.peek()
        except ssl.SSLWantReadError:
            waiting = b""
        finally:
            self.socket.settimeout(self.timeout)
        return bytes(self.file.read1(len(waiting))) if waiting else b""


def batches(response: BaseHTTPResponse, timeout: float, idle: float) -> Iterator[list[bytes]]:
    """Yield the complete lines that have arrived; an empty list after `idle` s of silence. Raises Stalled."""
    chunked = Chunked() if "chunked" in response.headers.get("transfer-encoding", "").lower() else None
    buffer = LineBuffer()
    for block in Wire(response, timeout).blocks(idle):
        complete = buffer.feed(chunked.decode(block) if chunked else block)
        if complete or not block:
            yield complete
        if chunked and chunked.ended:
            return
