"""A process that is ended by force ends although nobody reads what it says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from events.grace import OVERDUE, end_within

PROGRAM = """
import os, signal, sys, time
from {module} import end_within

signal.signal(signal.SIGTERM, lambda *_: None)
end_within(0.5)
os.set_blocking(2, False)
try:
    while os.write(2, b"x" * 65536): pass
except BlockingIOError:
    os.set_blocking(2, True)
print("full", flush=True)
while True: time.sleep(1)
"""


@pytest.mark.row("TM-05")
def test_a_full_pipe_does_not_keep_a_process_that_is_overdue() -> None:
    reader, writer = os.pipe()
    command = [sys.executable, "-c", PROGRAM.format(module=end_within.__module__)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=writer) as process:
        os.close(writer)
        assert process.stdout
        assert process.stdout.readline() == b"full\n"
        process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(30) == OVERDUE
        finally:
            process.kill()
            os.close(reader)
