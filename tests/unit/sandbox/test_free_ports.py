"""Servers that several processes start at once get ports of their own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from compose.sandbox.free_ports import OF_A_PROCESS, PORTS, free_port, ports_of

PROCESSES, EACH = 4, 300
TAKES = f"""
from compose.sandbox.free_ports import free_port
print(*(free_port() for _ in range({EACH})), flush=True)
input()
"""


def test_processes_that_look_at_the_same_time_find_different_ports() -> None:
    command = [sys.executable, "-c", TAKES]
    others = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)
    ]
    found = [port for each in others if each.stdout for port in each.stdout.readline().split()]
    for each in others:
        each.communicate("\n")
    assert len(found) == len(set(found)) == PROCESSES * EACH
    assert all(int(port) in PORTS for port in found)


def test_a_port_in_use_is_passed_over() -> None:
    own = ports_of(os.getpid())
    taken = next(own)
    around = [next(own) for _ in range(OF_A_PROCESS - 1)]
    with socket.socket() as server:
        server.bind(("127.0.0.1", taken))
        server.listen()
        assert free_port() in around


def test_when_every_range_is_held_a_process_is_told_so(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    hold = (
        "from compose.sandbox.free_ports import *\nprint(all(map(locked, PORTS[::OF_A_PROCESS])), flush=True)\ninput()"
    )
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", hold], env=environment, **pipes) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "True\n"
        asks = subprocess.run(
            [sys.executable, "-c", TAKES], env=environment, check=False, capture_output=True, text=True
        )
        holder.communicate("\n")
    assert "45 processes hold every range of ports between 12000 and 30000" in asks.stderr
