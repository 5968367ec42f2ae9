"""What the library logs in a process of others: never on stdout, unless the process says so."""

from __future__ import annotations

import subprocess
import sys

import pytest

from berthmaster.client import Fleet

FLEET = f"""
from {Fleet.__module__} import Fleet, Request
Fleet("redis://127.0.0.1:1/0").submit(Request("job", "games/warm", "task"))
"""
CONFIGURED = """
import sys, structlog
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stdout))
"""


@pytest.mark.row("ST-04")
@pytest.mark.parametrize("configured", [False, True])
def test_a_service_keeps_its_stdout_unless_it_sends_records_there(configured: bool) -> None:
    code = CONFIGURED * configured + FLEET
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert ("tasks_unsent" in done.stdout, "tasks_unsent" in done.stderr) == (configured, not configured)
