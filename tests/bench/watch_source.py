"""An API server that has one thing to say and says it as fast as it is read: pages of a list, then watch lines made
beforehand.

`python -m tests.bench.watch_source --events N --keys K --listed L` prints its URL. It is a process of its own, so that
it does not share an interpreter with what is measured.
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson

from tests.support.pods.pods import pod

FIRST = 1000
FILLER = {"x" * 20: "y" * 900}  # in spec: brings a line to the size of a real pod's, 1.3 kB
OPENED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"


@contextmanager
def source(events: int, keys: int, listed: int = 0) -> Iterator[str]:
    """Its URL, while it runs."""
    told = ["--events", str(events), "--keys", str(keys), "--listed", str(listed)]
    command = [sys.executable, "-m", "tests.bench.watch_source", *told]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def big_pod(number: int, version: int) -> dict[str, Any]:
    obj = pod(f"p{number}", resourceVersion=str(version))
    obj["spec"]["filler"] = FILLER
    return obj


def chunks(events: int, keys: int) -> Iterator[bytes]:
    """Each event a chunk of HTTP, as the API server sends them; joined to larger writes."""
    batch = []
    for number in range(1, events + 1):
        event = {"type": "MODIFIED", "object": big_pod(number % keys, FIRST + number)}
        text = orjson.dumps(event) + b"\n"
        batch.append(b"%x\r\n%s\r\n" % (len(text), text))
        if len(batch) == 50:
            yield b"".join(batch)
            batch = []
    yield b"".join(batch)


def page(target: str, listed: int) -> bytes:
    """Of the list, as `limit` and `continue` ask for it."""
    query = {name: values[0] for name, values in parse_qs(urlsplit(target).query).items()}
    start = int(query.get("continue", 0))
    end = min(listed, start + int(query.get("limit", listed)))
    meta = {"resourceVersion": str(FIRST)} | ({"continue": str(end)} if end < listed else {})
    body = {"kind": "PodList", "metadata": meta, "items": [big_pod(number, FIRST) for number in range(start, end)]}
    text = orjson.dumps(body)
    return HEAD % (len(text), text)


def serve(connection: socket.socket, stored: list[bytes], listed: int) -> None:
    reader = connection.makefile("rb")
    while request := reader.readline().decode():
        while reader.readline() not in (b"\r\n", b""):
            pass
        target = request.split()[1]
        if "watch=" not in target:
            connection.sendall(page(target, listed))
            continue
        connection.sendall(OPENED)
        for data in stored:
            connection.sendall(data)


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("--events", "--keys", "--listed"):
        parser.add_argument(name, type=int, default=0)
    asked = parser.parse_args()
    stored = list(chunks(asked.events, asked.keys))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection, stored, asked.listed), daemon=True).start()


if __name__ == "__main__":
    main()
