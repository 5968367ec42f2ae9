"""The rate that AWS sees, with several processes of several threads behind one budget."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.fixtures.aws import Aws
from tests.support.ports.aws_caller import RATE

PROCESSES, THREADS, CALLS = 3, 5, 10
ON_THE_WAY = 0.25  # seconds by which a granted call may reach AWS later than another


def times_of_calls(aws: Aws, redis_url: str) -> list[float]:
    """When AWS received the calls of all processes."""
    command = [sys.executable, "-m", "tests.support.ports.aws_caller", aws.endpoint_url, redis_url]
    started = [subprocess.Popen([*command, f"caller-{n}", str(THREADS), str(CALLS)]) for n in range(PROCESSES)]
    assert [process.wait(60) for process in started] == [0] * PROCESSES
    return sorted(call["time"] for call in aws.calls())


def most_in(seconds: float) -> float:
    return RATE.burst + RATE.per_second * (seconds + ON_THE_WAY)


@pytest.mark.row("CL-03", "CL-15")
def test_the_permitted_rate_is_never_exceeded_and_always_used(aws: Aws, redis_url: str) -> None:
    times = times_of_calls(aws, redis_url)
    assert len(times) == PROCESSES * THREADS * CALLS
    for first, start in enumerate(times):
        for last in range(first, len(times)):
            assert last - first + 1 <= most_in(times[last] - start)
    needed = (len(times) - RATE.burst) / RATE.per_second
    assert times[-1] - times[0] <= 1.15 * needed
