"""`berthmaster confirm` and `berthmaster cancel`: the decisions of a person about a job."""

from __future__ import annotations

import time
from typing import Annotated, Any, Final

import typer

from berthmaster import routing
from berthmaster.jobs.job import JobRecord, JobState
from berthmaster.jobs.slot_ledger import SlotLedger
from workers.cli.configured import configured
from workers.cli.doctor import AsJson
from workers.cli.jobs import Job, Pool, read, refused
from workers.cli.output import say, say_json

Plan = Annotated[
    str,
    typer.Argument(metavar="PLAN", help="Id of the plan that you have reviewed; `berthmaster explain job` shows it"),
]
Trial = Annotated[bool, typer.Option("--dry-run", help="Show whether it can be done; send nothing")]
PATIENCE: Final = 15.0
"""Seconds that a worker has to carry the decision out."""


def confirm(pool: Pool, name: Job, plan: Plan, dry_run: Trial = False, as_json: AsJson = False) -> None:
    """Let a job go on with the plan that you have reviewed. Exit status 1 if another plan waits, or none."""
    decide(pool, name, (routing.SLOTS_CONFIRM, pool, name, plan), dry_run, as_json)


def cancel(pool: Pool, name: Job, dry_run: Trial = False, as_json: AsJson = False) -> None:
    """Cancel a job, also while it runs. Exit status 1 if it has ended or does not exist."""
    decide(pool, name, (routing.SLOTS_CANCEL, pool, name), dry_run, as_json)


def decide(pool: str, name: str, call: tuple[str, ...], dry_run: bool, as_json: bool) -> None:
    """Send the task `call`, and wait until a worker has carried it out."""
    before = read(pool, lambda ledger: ledger.record(name))
    if before is None:
        raise refused(f"{pool} knows no job {name}: it was never submitted, or ended long ago")
    now, why = before, why_not(before, *call[3:])
    if not why and not dry_run:
        now, why = carried_out(pool, before, call)
    if as_json:
        document: dict[str, Any] = {
            "pool": pool,
            "job": name,
            "state": now.state,
            "done": not (why or dry_run),
            "why": why,
        }
        say_json(document)
    if why:
        raise refused(f"{name}: {why}")
    if not as_json:
        say(f"{name}: {'could be done' if dry_run else f'it is {now.state} now'}")


def why_not(record: JobRecord, plan: str = "") -> str:
    """Return why a job cannot be cancelled, or its `plan` cannot be confirmed. '' if it can."""
    if record.state is JobState.DONE:
        return f"it has ended: {record.outcome}"
    if plan and record.state is not JobState.RESERVED:
        return f"it waits for no confirmation: it is {record.state}"
    if plan and record.plan != plan:
        return f"the plan that waits is {record.plan}: review that one, and confirm it"
    return ""


def carried_out(pool: str, before: JobRecord, call: tuple[str, ...]) -> tuple[JobRecord, str]:
    """Send the task. Returns the job afterwards, and why it did not change ('' if it did)."""
    from berthmaster.broker.sending import Sender  # here: it needs the client of the broker, which takes long to load

    settings = configured()
    if not Sender(str(settings.broker.url or settings.redis.url)).send(*call):
        return before, "the broker does not accept it: berthmaster doctor says why"
    now = read(pool, lambda ledger: changed(ledger, before))
    late = f"no worker has done it within {PATIENCE:g} s: berthmaster doctor says what is down"
    return now, late if now == before else ""


def changed(ledger: SlotLedger, before: JobRecord) -> JobRecord:
    """Return the job as soon as it differs from `before`, or as it is when `PATIENCE` is over."""
    until = time.monotonic() + PATIENCE
    while (now := ledger.record(before.id) or before) == before and time.monotonic() < until:
        time.sleep(0.1)
    return now
