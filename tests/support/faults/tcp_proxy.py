"""A proxy on loopback that can swallow everything, as a network does when it loses a route: no reset, no answer.

Connections made before or after `swallow` stay dead after `pass_on`: what a half-open connection is.
"""

from __future__ import annotations

import contextlib
import socket
import threading


class TcpProxy:
    def __init__(self, target: int) -> None:
        self._target, self._swallows = target, False
        self._open: list[socket.socket] = []
        self._dead: set[socket.socket] = set()
        self.swallowed = 0  # connections that were accepted and never answered
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._spawn(self._accept)

    def swallow(self) -> None:
        self._swallows = True
        self._dead |= set(self._open)

    def pass_on(self) -> None:
        self._swallows = False

    def lead_to(self, target: int) -> None:
        """Connections go there from now on, as behind a name that a provider moves; those of before stay."""
        self._target = target

    def welcomed(self, client: socket.socket) -> socket.socket:
        """Raises OSError for one that is not taken."""
        return client

    def passed(self, data: bytes) -> bytes:
        """What becomes of data on its way."""
        return data

    def close(self) -> None:
        for one in [self._listener, *self._open]:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._open.append(client)
                if self._swallows:
                    self.swallowed += 1
                else:
                    self._join(client)

    def _join(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self._target))
        except OSError:
            client.close()
            return
        self._open.append(server)
        self._spawn(self._serve, client, server)

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        try:
            client = self.welcomed(client)
        except OSError:
            client.close()
            server.close()
            return
        self._open.append(client)
        self._spawn(self._copy, client, server)
        self._spawn(self._copy, server, client)

    def _copy(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if source not in self._dead:
                    sink.sendall(self.passed(data))
        if source not in self._dead:
            sink.close()

    def _spawn(self, run: object, *args: object) -> None:
        threading.Thread(target=run, args=args, daemon=True).start()  # type: ignore[arg-type]  # any callable
