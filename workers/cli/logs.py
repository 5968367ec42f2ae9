"""`berthmaster logs NAMESPACE/POD-POOL JOB`: what the task of a job has printed and logged."""

from __future__ import annotations

from typing import Annotated

import typer

from berthmaster.jobs.logs import JobLogs, LogLine, NoSuchLog
from berthmaster.jobs.slot_ledger import SlotLedger
from domain.quantity import quantity
from workers.cli.jobs import Job, Pool, is_present, no_pool, read, refused
from workers.cli.output import say, say_json_line

Follow = Annotated[bool, typer.Option("--follow", "-f", help="Go on until the attempt has ended; wait for its start")]
Attempt = Annotated[
    str | None,
    typer.Option("--attempt", metavar="ATTEMPT", help="Id of an attempt; otherwise the latest that has printed"),
]
AsLines = Annotated[bool, typer.Option("--json", help="Print a JSON object a line")]


def logs(pool: Pool, name: Job, follow: Follow = False, attempt: Attempt = None, as_json: AsLines = False) -> None:
    """Print what the task of a job has printed and logged. Exit status 1 if there is no such job or attempt."""
    try:
        missing = read(pool, lambda ledger: printed(ledger, name, follow=follow, attempt=attempt, as_json=as_json))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    if missing:
        raise refused(missing)


def printed(ledger: SlotLedger, job: str, *, follow: bool, attempt: str | None, as_json: bool) -> str:
    """Print the lines. Returns why there are none, '' if there is nothing to say."""
    if not is_present(ledger):
        return no_pool(ledger.pool)
    count = 0
    try:
        for line in JobLogs(ledger).lines(job, attempt, follow=follow):
            count += 1
            show(line, as_json)
    except NoSuchLog as error:
        return str(error)
    if not count and (record := ledger.record(job)):
        say(f"{job}: nothing was printed; it is {record.state}", err=True)
    return ""


def show(line: LogLine, as_json: bool) -> None:
    """Print a line, after how many are missing before it."""
    if as_json:
        say_json_line(line)
        return
    if line.missing:
        say(f"[{gap_of(line)}]")
    say(line.text)


def gap_of(line: LogLine) -> str:
    """Say how many lines before a line are missing: the oldest ones, which are not kept, or others."""
    if line.missing == line.number - 1:
        return f"{quantity(line.missing, 'earlier line')} not kept"
    return f"{quantity(line.missing, 'line')} missing here"
