"""`redis-cli -u URL [--raw] COMMAND [ARGUMENT ...]` for a machine that has none. Each text of a reply is a line.

As redis-cli 7.0, it sends the user of the address also if that is empty, says what AUTH answers, and goes on.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from socket import create_connection, socket
from typing import Any
from urllib.parse import unquote, urlsplit

from hiredis import Reader, ReplyError, pack_command


def path_with_redis_cli(folder: Path) -> str:
    """A search path that has `redis-cli`: the machine's own, or this one in the folder."""
    path = os.environ["PATH"]
    return path if shutil.which("redis-cli") else f"{stand_in(folder)}:{path}"


def stand_in(folder: Path) -> Path:
    """The folder, with this `redis-cli` in it."""
    file = folder / "redis-cli"
    file.write_text(f'#!/bin/sh\nPYTHONPATH="{Path.cwd()}" exec "{sys.executable}" -m {__name__} "$@"\n')
    file.chmod(0o755)
    return folder


def texts(reply: Any) -> Iterator[str]:
    if isinstance(reply, list):
        for part in reply:
            yield from texts(part)
    else:
        yield reply.decode() if isinstance(reply, bytes) else "" if reply is None else str(reply)


def ask(connection: socket, *command: str) -> Any:
    """The reply; an error that the server answers is one."""
    words: Any = command  # hiredis' types know tuples of one
    connection.sendall(pack_command(words))
    reader = Reader()
    while (reply := reader.gets()) is False:
        reader.feed(connection.recv(65536) or sys.exit("Error: Server closed the connection"))
    return reply


def main(option: str, url: str, *command: str) -> None:
    if option != "-u":
        raise SystemExit(f"unknown option {option}")
    parts = urlsplit(url)
    with create_connection((parts.hostname or "127.0.0.1", parts.port or 6379)) as connection:
        if parts.password is not None:
            refused = ask(connection, "AUTH", unquote(parts.username or ""), unquote(parts.password))
            if isinstance(refused, ReplyError):
                sys.stderr.write(f"AUTH failed: {refused}\n")
        for text in texts(ask(connection, *(part for part in command if part != "--raw"))):
            sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
