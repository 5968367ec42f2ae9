"""A signal ends the publisher whichever thread the kernel gives it to."""

from __future__ import annotations

import subprocess
import sys

import pytest

from events.publisher.process import stop_on_signals

PROGRAM = """
import signal, threading
from {module} import stop_on_signals

stop = stop_on_signals(20)
other = threading.Thread(target=threading.Event().wait, daemon=True)
other.start()
{how}
stop.wait()
"""
TO_ANOTHER = "threading.Timer(0.2, lambda: signal.pthread_kill(other.ident, signal.SIGTERM)).start()"
TO_THE_PROCESS = (
    "threading.Timer(0.2, lambda: __import__('os').kill(__import__('os').getpid(), signal.SIGTERM)).start()"
)


@pytest.mark.row("TM-05")
@pytest.mark.parametrize("how", [TO_ANOTHER, TO_THE_PROCESS])
def test_a_signal_ends_a_main_thread_that_waits(how: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(how=how, module=stop_on_signals.__module__)], check=False, timeout=60
    )
    assert ended.returncode == 0
