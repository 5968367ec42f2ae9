"""An API server that has one thing to say and says it as fast as it is read: watch lines made beforehand.

`python -m tests.bench.watch_source --events N --keys K` prints its URL. It is a process of its own, so that it does not
share an interpreter with what is measured.
"""

from __future__ import annotations

import argparse
import socket
import sys
import threading
from collections.abc import Iterator

import orjson

from tests.support.pods import pod

FIRST = 1000
FILLER = {"x" * 20: "y" * 900}  # in spec: brings a line to the size of a real pod's, 1.3 kB


def line(number: int, keys: int) -> bytes:
    obj = pod(f"p{number % keys}", resourceVersion=str(FIRST + number))
    obj["spec"]["filler"] = FILLER
    return orjson.dumps({"type": "MODIFIED", "object": obj}) + b"\n"


def chunks(events: int, keys: int) -> Iterator[bytes]:
    """Each event a chunk of HTTP, as the API server sends them; joined to larger writes."""
    batch = []
    for number in range(1, events + 1):
        text = line(number, keys)
        batch.append(b"%x\r\n%s\r\n" % (len(text), text))
        if len(batch) == 50:
            yield b"".join(batch)
            batch = []
    yield b"".join(batch)


LISTING = orjson.dumps({"kind": "PodList", "metadata": {"resourceVersion": str(FIRST)}, "items": []})
LISTED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(LISTING), LISTING)
OPENED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


def serve(connection: socket.socket, stored: list[bytes]) -> None:
    reader = connection.makefile("rb")
    while request := reader.readline():
        while reader.readline() not in (b"\r\n", b""):
            pass
        if b"watch=" not in request:
            connection.sendall(LISTED)
            continue
        connection.sendall(OPENED)
        for data in stored:
            connection.sendall(data)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, required=True)
    parser.add_argument("--keys", type=int, required=True)
    asked = parser.parse_args()
    stored = list(chunks(asked.events, asked.keys))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection, stored), daemon=True).start()


if __name__ == "__main__":
    main()
