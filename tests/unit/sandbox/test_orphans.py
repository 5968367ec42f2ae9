"""What a process of the sandbox or of a test has started ends with it, also when it is killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from compose.sandbox.orphans import started
from tests.support.waiting import eventually

PARENT = """
import sys, time
from pathlib import Path
from compose.sandbox.daemon import Daemon

daemon = Daemon("sleeper", [sys.executable, "-c", "import time; time.sleep(600)"], Path(sys.argv[1]))
daemon.launch()
print(daemon.process.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.row("TM-05")
def test_a_server_ends_with_the_process_that_started_it_and_was_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PARENT, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        server = int(parent.stdout.readline())
        assert started(server)
        parent.kill()
    eventually(lambda: not started(server))
