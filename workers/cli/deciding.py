"""`berthmaster confirm` and `berthmaster cancel`: the decisions of a person about a job."""

from __future__ import annotations

import getpass
import time
from typing import Annotated, Any, Final

import typer

from berthmaster import routing
from berthmaster.jobs.job import JobRecord, JobState
from berthmaster.jobs.slot_ledger import SlotLedger
from workers.cli.configured import MISUSE, configured
from workers.cli.doctor import AsJson
from workers.cli.jobs import Job, Pool, read, refused, unknown_job
from workers.cli.output import say, say_json

Plan = Annotated[
    str | None,
    typer.Argument(
        metavar="PLAN", help="Id of the plan that you have reviewed; without it, the command names the one that waits"
    ),
]
Person = Annotated[
    str | None,
    typer.Option("--as", metavar="NAME", help="Who decides, for the job and the log; without it, the system's user"),
]
Trial = Annotated[bool, typer.Option("--dry-run", help="Show whether it can be done; send nothing")]
Call = tuple[str, *tuple[str | None, ...]]
"""Name of a task, and its arguments."""
LONGEST_NAME: Final = 200
PATIENCE: Final = 15.0
"""Seconds that a worker has to carry the decision out."""


def confirm(
    pool: Pool, name: Job, plan: Plan = None, person: Person = None, dry_run: Trial = False, as_json: AsJson = False
) -> None:
    """Let a job go on with the plan that you have reviewed. Exit status 1 if another plan waits, or none."""
    if plan is None:
        raise unnamed_plan(pool, known_job(pool, name))
    decide(pool, name, (routing.SLOTS_CONFIRM, pool, name, plan, decided_by(person)), dry_run, as_json, plan)


def cancel(pool: Pool, name: Job, person: Person = None, dry_run: Trial = False, as_json: AsJson = False) -> None:
    """Cancel a job, also while it runs. Exit status 1 if it has ended or does not exist."""
    decide(pool, name, (routing.SLOTS_CANCEL, pool, name, decided_by(person)), dry_run, as_json)


def unnamed_plan(pool: str, record: JobRecord) -> typer.Exit:
    """Say which plan waits and how to confirm it; the exit to raise. Nobody confirms what he has not named."""
    if record.state is not JobState.RESERVED:
        return refused(f"{record.id}: {why_not(record, 'none was named')}")
    command = f"{pool} {record.id}"
    say(
        f"{record.id}: name the plan that you have reviewed. Plan {record.plan} waits",
        f"  berthmaster explain job {command}   # shows it",
        f"  berthmaster confirm {command} {record.plan}",
        err=True,
    )
    return typer.Exit(MISUSE)


def known_job(pool: str, name: str) -> JobRecord:
    """Return the record of a job. Prints what is wrong and raises typer.Exit if there is none."""
    record = read(pool, lambda ledger: ledger.record(name) or unknown_job(ledger, name))
    if isinstance(record, str):
        raise refused(record)
    return record


def decided_by(name: str | None) -> str | None:
    """Return the name given, else that of the system's user; None for a user without a name, as in a container."""
    if name is not None:
        if not 0 < len(name) <= LONGEST_NAME:
            raise typer.BadParameter(f"a name has 1 to {LONGEST_NAME} characters", param_hint="--as")
        return name
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return None


def decide(pool: str, name: str, call: Call, dry_run: bool, as_json: bool, plan: str = "") -> None:
    """Send the task `call`, and wait until a worker has carried it out."""
    before = known_job(pool, name)
    now, why = before, why_not(before, plan)
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


def carried_out(pool: str, before: JobRecord, call: Call) -> tuple[JobRecord, str]:
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
