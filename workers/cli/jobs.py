"""`berthmaster jobs NAMESPACE/POD-POOL`, and `explain job` and `explain pod-pool`: why they are in their state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer
from rich.table import Table

from berthmaster.jobs.job import JobState
from berthmaster.jobs.scripts import load_scripts
from berthmaster.jobs.slot_ledger import SlotLedger
from berthmaster.jobs.unreadable import UnreadableLedger
from berthmaster.redis.client import connect_state
from berthmaster.redis.identity import Identity
from berthmaster.redis.outage import OUTAGE
from domain.quantity import quantity
from events.kube.api import KubeError
from workers.cli.configured import MISUSE, Unconfigured, configured, kubernetes
from workers.cli.doctor import AsJson
from workers.cli.job_words import deadline_of, document, explain_job, inputs, lines, pod_names, reason
from workers.cli.output import console, say, say_json
from workers.cli.troubles import in_words
from workers.stores.pool_names import PodPoolNames
from workers.stores.slots.view import ends, times, view
from workers.stores.slots.view import jobs as jobs_of

if TYPE_CHECKING:
    from workers.pod_pools.explain import PodPoolDryRun


Pool = Annotated[str, typer.Argument(metavar="NAMESPACE/POD-POOL")]
Job = Annotated[str, typer.Argument(metavar="ID")]
Ended = Annotated[bool, typer.Option("--ended", help="Also list jobs that have ended within a day, the latest first")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what the next run would do; change nothing")]
T = TypeVar("T")
COLUMNS = ("id", "state", "phase", "plan", "pod", "slot", "priority", "serial_key", "limit", "outcome", "ended")
NEVER: Final = datetime.fromtimestamp(0, UTC)


def jobs(pool: Pool, as_json: AsJson = False, ended: Ended = False) -> None:
    """List the jobs of a pod pool; services submit them by Fleet.submit or a message slots.submit.

    Exit status 1 if they cannot be read or there is no such pod pool.
    """
    rows = read(pool, lambda ledger: listed(ledger, ended) if is_present(ledger) else None)
    if rows is None:
        raise refused(no_pool(pool))
    if as_json:
        say_json(rows)
        return
    if not rows:
        say(
            f"{pool} has no jobs"
            if ended
            else f"{pool} has no jobs that wait or run; --ended lists those that have ended"
        )
        return
    columns = [name for name in COLUMNS if ended or name not in ("outcome", "ended")]
    table = Table(*columns)
    for row in rows:
        at = f"{row['ended']:%F %T}Z" if row["ended"] else ""
        limit = " ".join(filter(None, (row["limit"], f"{row['deadline']:%F %T}Z" if row["deadline"] else "")))
        plan = row["plan"] if row["state"] is JobState.RESERVED else ""  # the one that `confirm` takes
        place = {"pod": row["pod"] or row["uid"], "slot": row["slot"] or ""}
        shown = row | place | {"plan": plan, "limit": limit, "ended": at}
        table.add_row(*(str(shown[name]) for name in columns))
    console().print(table)


def listed(ledger: SlotLedger, ended: bool) -> list[dict[str, Any]]:
    """Return the jobs as rows, by state; those that have ended come with the latest first."""
    at, all_times = ends(ledger) if ended else {}, times(ledger)
    asked = (job for job in jobs_of(ledger) if ended or job.state is not JobState.DONE)
    names = pod_names(view(ledger).pods)
    rows = sorted(asked, key=lambda job: (job.state, -at.get(job.id, NEVER).timestamp(), job.priority, job.id))
    return [document(job, names.get(job.uid, ""), at.get(job.id), deadline_of(job, all_times)) for job in rows]


def job(pool: Pool, name: Job, as_json: AsJson = False) -> None:
    """Show the state of a job and what it waits for. Exit status 1 if there is no such job."""
    explanation = read(pool, lambda ledger: explain_job(ledger, name) or unknown_job(ledger, name))
    if isinstance(explanation, str):
        raise refused(explanation)
    if as_json:
        about = explanation.record, explanation.pod, explanation.ended, explanation.deadline
        say_json(document(*about) | {"why": reason(explanation)})
    else:
        say(*lines(explanation))


def pod_pool(pool: Pool, as_json: AsJson = False, dry_run: DryRun = False) -> None:
    """Show why a pod pool has its size: the latest decision and the signals behind it."""
    from workers.pod_pools.decision_log import latest_decision  # here: no other command needs it

    if dry_run:
        plan = read(pool, lambda ledger: dry_run_of(ledger.pool))
        if plan is None:
            raise refused(f"there is no such PodPool {pool}, or it is being deleted")
        say_json(plan.document) if as_json else say(*steps(plan))
        return
    decision, snapshot, present = read(pool, lambda ledger: (latest_decision(ledger), view(ledger), is_present(ledger)))
    if decision is None:
        raise refused(f"nothing was decided about {pool} yet" if present else no_pool(pool))
    slots = {pod.name: [job or "-" for job in pod.slots] for pod in snapshot.pods}
    if as_json:
        say_json({**decision.document, "pods": slots})
        return
    reasons = (decision.reason, *inputs(decision.inputs))
    say(
        f"{pool}: {quantity(decision.size, 'pod')} wanted, change {decision.change:+d}",
        *(f"  {line}" for line in reasons),
    )
    table = Table("pod", "view", "slots")
    for pod in snapshot.pods:
        table.add_row(pod.name, pod.view, " | ".join(slots[pod.name]))
    console().print(table)


def is_present(ledger: SlotLedger) -> bool:
    """Return whether a worker knows the pool, or its ledger holds something."""
    about = [f"{ledger.prefix}{name}" for name in ("jobs", "pods")]
    return ledger.pool in PodPoolNames(ledger.redis).all() or bool(ledger.redis.exists(*about))


def no_pool(pool: str) -> str:
    """Say that nobody knows a pod pool."""
    return f"there is no PodPool {pool}: no worker has seen one of that name, and it has no jobs"


def unknown_job(ledger: SlotLedger, name: str) -> str:
    """Say what is missing of a job that the ledger does not know: its pool, or the job."""
    if not is_present(ledger):
        return no_pool(ledger.pool)
    return f"pod pool {ledger.pool} knows no job {name}: it was never submitted, or ended long ago"


def refused(why: str) -> typer.Exit:
    """Print why to standard error, and return the exit to raise."""
    say(why, err=True)
    return typer.Exit(1)


def dry_run_of(pool: str) -> PodPoolDryRun | None:
    """Return what the next run of the pool would do, None without such a pool."""
    from workers.pod_pools.explain import dry_run
    from workers.wiring.process import build  # here: it needs every client, which takes longer than most commands

    settings = configured()
    kubernetes(settings)
    return dry_run(build(settings).podpools, pool)


def steps(plan: PodPoolDryRun) -> Iterator[str]:
    """Yield what a run would do, in its order."""
    if plan.token:  # the pool is there
        yield f"reconcile: {', '.join(plan.gone) or 'nothing'} is gone"
        yield from (f"health: {name}: {action}" for name, action in plan.steps)
        yield f"token: {plan.token}"
        yield from (f"schedules: {line}" for line in plan.schedules)
    if plan.problem:
        yield plan.problem
        return
    yield f"scale: change {plan.change:+d} to {quantity(plan.size, 'pod')}: {plan.reason}"
    yield f"  {quantity(plan.create, 'pod')} to create, to remove: {', '.join(plan.remove) or 'none'}"
    if plan.gone or plan.steps:
        yield "  as things stand now: the run reads everything again after the steps above"


def pool_or_exit(pool: str) -> None:
    """Print what is wrong and raise typer.Exit, unless this names a pod pool."""
    if pool.count("/") != 1 or not all(pool.split("/")):
        say("name the pod pool as NAMESPACE/POD-POOL", err=True)
        raise typer.Exit(MISUSE)


def read(pool: str, question: Callable[[SlotLedger], T]) -> T:
    """Ask the slot ledger of a pool. Prints what is wrong to standard error and raises typer.Exit."""
    pool_or_exit(pool)
    settings = configured()
    redis: Any = connect_state(settings.redis, Identity(settings.cluster))
    try:
        return question(SlotLedger(redis, load_scripts(redis), pool))
    except (*OUTAGE, KubeError, Unconfigured, UnreadableLedger) as error:
        raise refused(in_words(error)) from None
