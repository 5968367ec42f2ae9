"""Real processes of ours for the price of a fork: importing Celery and our clients takes seconds of CPU each time.

`Nursery` starts one process that imports what it is told and does nothing else. Asked for a child, it forks; the child
runs the real `main` of a program with arguments, environment and log of its own, and ends as any interpreter does.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import IO, Any, Final

import orjson

from compose.sandbox.orphans import end_with_us

PROGRAMS = ("events", "workers.cli.launch", "celery")
IMPORTED = (
    "events.publisher.process",
    "workers.app",
    "workers.cli.launch",
    "workers.cli.flower_pages",
    *("workers.tasks." + name for name in ("queue", "ports", "port_pools", "pod_pools", "claims")),
    *("celery.bin.celery", "celery.apps.worker", "celery.apps.beat", "celery.concurrency.thread"),
    *("celery.concurrency.prefork", "flower.command", "kombu.transport.redis", "berthmaster.runner"),
)
"""All that our programs need, ours too, for processes that are stopped while they start."""
LIBRARIES: Final = (
    *("boto3", "botocore.client", "kubernetes", "orjson", "pydantic", "pydantic_settings", "structlog"),
    *("prometheus_client", "prometheus_client.multiprocess", "redis.asyncio", "redis.sentinel", "kombu.connection"),
    *("celery.app.amqp", "celery.app.builtins", "celery.app.events", "celery.app.log", "celery.app.task"),
    *("celery.bin.celery", "celery.bin.worker", "celery.bin.beat", "celery.concurrency.prefork", "celery.loaders.app"),
    *("celery.concurrency.thread", "celery.worker.consumer", "celery.worker.strategy", "kombu.transport.redis"),
    *("celery.apps.worker", "celery.apps.beat"),
)
"""What is not ours and reads no variable of ours: a child imports all our code itself, and has no state of another."""


class Nursery:
    """`environment` is what programs read while they are imported."""

    def __init__(self, environment: Mapping[str, str], imported: Sequence[str] = IMPORTED) -> None:
        command, settings = [sys.executable, "-m", __name__, *imported], {**os.environ, **environment}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=settings)
        self.lock = Lock()
        end_with_us(self.process)

    def start(self, arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> Child:
        """As `python -m`, with this whole environment. Its log is there when this returns."""
        log.touch(0o600)
        pid = self.ask({"arguments": arguments, "environment": environment, "log": str(log)})
        return Child(self, pid)

    def ask(self, what: Mapping[str, Any]) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with self.lock:
            self.process.stdin.write(orjson.dumps(what) + b"\n")
            self.process.stdin.flush()
            return int(self.process.stdout.readline())

    def close(self) -> None:
        """Its children end with it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


class Child:
    def __init__(self, nursery: Nursery, pid: int) -> None:
        self.nursery, self.pid, self.handle = nursery, pid, os.pidfd_open(pid)

    def signal(self, number: int) -> None:
        """One that has ended already, as by a fault, is left alone."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.handle, number)

    def ended(self, within: float | None) -> bool:
        return bool(select.select([self.handle], [], [], within)[0])

    def status(self) -> int:
        """Waits for its end."""
        os.close(self.handle)
        return self.nursery.ask({"wait": self.pid})


def serve(imported: Sequence[str], requests: IO[bytes], answers: IO[bytes]) -> None:
    for name in imported:
        __import__(name)
    children: set[int] = set()
    try:
        for line in requests:
            asked = orjson.loads(line)
            if "wait" in asked:
                answer = os.waitstatus_to_exitcode(os.waitpid(asked["wait"], 0)[1])
                children.discard(asked["wait"])
            elif answer := fork():
                children.add(answer)
            else:
                children.clear()  # its siblings do not end with it
                become(asked["arguments"], asked["environment"], asked["log"])
                return
            answers.write(b"%d\n" % answer)
            answers.flush()
    finally:
        for child in children:
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)


def fork() -> int:
    """Returns in the parent once the child leads a session: who kills its group finds it."""
    reads, writes = os.pipe()
    if child := os.fork():
        os.close(writes)
        os.read(reads, 1)
    else:
        os.setsid()
        os.close(writes)
    os.close(reads)
    return child


def become(arguments: list[str], environment: Mapping[str, str], log: str) -> None:
    """Ends by the program's own SystemExit, if it ends by itself."""
    nothing, output = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number, file in enumerate((nothing, output, output)):
        os.dup2(file, number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", 1), open(2, "w", 1)  # noqa: SIM115 - until it ends
    sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr  # type: ignore[misc] # Celery logs there
    os.environ.clear()
    os.environ.update(environment)
    if clock := environment.get("SHIFTED_CLOCK"):
        ctypes.CDLL(environment["LD_PRELOAD"]).follow_clock(clock.encode())  # it was loaded before the file was known
    sys.argv = ["-m", *arguments[1:]]
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    serve(sys.argv[1:], sys.stdin.buffer, sys.stdout.buffer)
