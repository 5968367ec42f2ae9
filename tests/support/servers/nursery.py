"""Real processes of ours for the price of a fork: importing Celery and our clients takes seconds of CPU each time.

`Nursery` starts one process that imports everything and does nothing else. Asked for a child, it forks; the child runs
the real `main` of a program with arguments, environment and log of its own, and ends as any interpreter does.
"""

from __future__ import annotations

import os
import runpy
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

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


class Nursery:
    """`environment` is what programs read while they are imported."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        command, settings = [sys.executable, "-m", __name__], {**os.environ, **environment}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=settings)
        end_with_us(self.process)

    def start(self, arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> Child:
        """As `python -m`."""
        pid = self.ask({"arguments": arguments, "environment": environment, "log": str(log)})
        return Child(self, pid)

    def ask(self, what: Mapping[str, Any]) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
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

    def ended(self, within: float) -> bool:
        return bool(select.select([self.handle], [], [], within)[0])

    def status(self) -> int:
        """Waits for its end."""
        os.close(self.handle)
        return self.nursery.ask({"wait": self.pid})


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    for name in IMPORTED:
        __import__(name)
    children: set[int] = set()
    try:
        for line in requests:
            asked = orjson.loads(line)
            if "wait" in asked:
                answer = os.waitstatus_to_exitcode(os.waitpid(asked["wait"], 0)[1])
                children.discard(asked["wait"])
            elif answer := os.fork():
                children.add(answer)
            else:
                become(asked["arguments"], asked["environment"], asked["log"])
                return
            answers.write(b"%d\n" % answer)
            answers.flush()
    finally:
        for child in children:
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)


def become(arguments: list[str], environment: Mapping[str, str], log: str) -> None:
    """Ends by the program's own SystemExit, if it ends by itself."""
    os.setsid()
    nothing, output = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number, file in enumerate((nothing, output, output)):
        os.dup2(file, number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", 1), open(2, "w", 1)  # noqa: SIM115 - until it ends
    os.environ.update(environment)
    sys.argv = ["-m", *arguments[1:]]
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
