"""Event -> `Bound`: from the version in which a pod asks for a port to the version that shows its endpoint.

Real are the publisher, two worker processes, beat, Redis and the sandbox's Kubernetes API. The cloud answers at once,
from the memory of one process, and each call of it takes its token from Redis; boto3, which takes about 2 ms of CPU a
call, is left out. All of it runs on this machine with the load and the observer: the CPU that each part took a bind is
told, since a machine that has less than that for them cannot keep the rate.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any, Final

import psutil

from tests.bench.crowd import Crowd
from tests.bench.measuring import Figure, Report, Tell, percentile
from tests.bench.memory_stack import MemoryStack
from tests.support.waiting import eventually

NAME: Final = "latency"
RATE: Final = 100.0
SLOW: Final = 20.0
PORTS_EACH: Final = 50


def run(quick: bool, tell: Tell) -> Report:
    fast, slow = (300, 100) if quick else (1500, 300)
    with tempfile.TemporaryDirectory() as folder, MemoryStack(Path(folder)) as stack:
        stack.start(lambda what: tell(f"started {what}"))
        stack.complete()
        eventually(stack.working, timeout=60)
        api = stack.kube.api("bench")
        with Crowd(api) as crowd:
            crowd.pool(loadBalancers=stack.existing_balancers(-(-(fast + slow + 50) // PORTS_EACH)))
            names = crowd.make(fast + slow + 50)
            bind(stack, crowd, names[:50], SLOW)  # warm: connections, caches
            tell(f"{slow} binds at {SLOW:g}/s")
            gently = bind(stack, crowd, names[50 : 50 + slow], SLOW)
            tell(f"{fast} binds at {RATE:g}/s")
            busy = bind(stack, crowd, names[50 + slow :], RATE)
        api.close()
    return Report(NAME, figures(gently, busy), {"at_20": gently, "at_100": busy})


def bind(stack: MemoryStack, crowd: Crowd, names: list[str], per_second: float) -> dict[str, Any]:
    """Latencies in ms; `binds_per_second` from the first request to the last bind."""
    before, ran, started = cpu_times(stack), stack.pod_runs(), time.monotonic()
    crowd.ask(names, per_second)
    asking = time.monotonic() - started
    crowd.wait_for("Bound", names, 120, stack.check)
    took, after = time.monotonic() - started, cpu_times(stack)
    eventually(lambda: not stack.held(), timeout=30)
    asked, bound = crowd.seen("asked"), crowd.seen("Bound")
    latencies = [(bound[name] - asked[name]) * 1000 for name in names]
    return {
        "p50": percentile(latencies, 0.5),
        "p99": percentile(latencies, 0.99),
        "asked_per_second": len(names) / asking,
        "binds_per_second": len(names) / took,
        "runs_a_bind": (stack.pod_runs() - ran).total() / len(names),
        "cpu_ms_a_bind": {part: (after[part] - before[part]) / len(names) * 1000 for part in after},
    }


def cpu_times(stack: MemoryStack) -> dict[str, float]:
    """Seconds used so far, by part."""
    used = {"load and observer": time.process_time()}
    for daemon in stack.supervised():
        if daemon.process:
            times = psutil.Process(daemon.process.pid).cpu_times()
            used[daemon.name] = times.user + times.system
    return used


def figures(gently: dict[str, Any], busy: dict[str, Any]) -> tuple[Figure, ...]:
    cpu = sum(busy["cpu_ms_a_bind"].values())
    asked = f"asked at {busy['asked_per_second']:.0f}/s, bound at {busy['binds_per_second']:.0f}/s"
    return (
        Figure("event -> Bound at 100/s, p50", busy["p50"], "ms", at_most=60, note=asked),
        Figure("event -> Bound at 100/s, p99", busy["p99"], "ms", at_most=250),
        Figure("event -> Bound at 20/s, p50", gently["p50"], "ms"),
        Figure("event -> Bound at 20/s, p99", gently["p99"], "ms"),
        Figure("runs a bind", busy["runs_a_bind"], "", at_most=1, note="hints in vain included"),
        Figure("CPU a bind, all processes", cpu, "ms", note="with load, observer and simulated servers"),
    )
