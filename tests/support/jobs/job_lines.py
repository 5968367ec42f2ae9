"""The log of a job as its runner writes it, without a runner."""

from __future__ import annotations

from berthmaster.jobs.runner_ledger import LogBatch, LogBounds
from berthmaster.jobs.slot_ledger import SlotLedger

BOUNDS = LogBounds(64 * 1024, 1024 * 1024)


def batch(first: int, *lines: str, ended: bool = False) -> LogBatch:
    return LogBatch(first, first + len(lines) - 1, "\n".join(lines).encode(), ended)


def write_lines(
    ledger: SlotLedger,
    job: str,
    attempt: str,
    *lines: str,
    first: int = 1,
    ended: bool = False,
    phase: str = "plan",
    bounds: LogBounds = BOUNDS,
) -> bool:
    """False: the job has no record."""
    return ledger.append_log(job, attempt, phase, batch(first, *lines, ended=ended), bounds)
