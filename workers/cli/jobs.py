"""`berthmaster jobs NAMESPACE/POOL`: the jobs of a pod pool; and why one of them, or the pool itself, is as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import orjson
import typer
from rich.table import Table

from domain.slots.job import JobRecord, JobState
from events.kube_api import KubeError
from workers.cli.configured import MISUSE, Unconfigured, configured, kubernetes
from workers.cli.doctor import AsJson
from workers.cli.output import console
from workers.cli.troubles import in_words
from workers.stores.client import connect_state
from workers.stores.outage import OUTAGE
from workers.stores.pool_names import PodPoolNames
from workers.stores.slots.ledger import SlotLedger, load_scripts
from workers.stores.slots.view import Place, place_of, view
from workers.stores.slots.view import jobs as jobs_of

if TYPE_CHECKING:
    from workers.podpools.foreseeing import Foreseen

Pool = Annotated[str, typer.Argument(metavar="NAMESPACE/POOL")]
Job = Annotated[str, typer.Argument(metavar="ID")]
Ended = Annotated[bool, typer.Option("--ended", help="those that have ended as well")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="what the next run would do; nothing is changed")]
T = TypeVar("T")
FIELDS = ("id", "state", "phase", "uid", "slot", "priority", "serial_key", "outcome")


def jobs(pool: Pool, as_json: AsJson = False, ended: Ended = False) -> None:
    """Lists the jobs of a pod pool; exit status 1 if they cannot be read, or nobody knows the pool."""
    found = read(pool, lambda ledger: list(jobs_of(ledger)) if known(ledger) else None)
    if found is None:
        raise refused(f"there is no PodPool {pool} with jobs, and no worker has seen one of that name")
    asked = (job for job in found if ended or job.state is not JobState.DONE)
    rows = sorted(asked, key=lambda job: (job.state, job.priority, job.id))
    if as_json:
        typer.echo(orjson.dumps([asdict(job) for job in rows], option=orjson.OPT_INDENT_2).decode())
        return
    table = Table(*FIELDS)
    for job in rows:
        table.add_row(*(str(getattr(job, name) or "") for name in FIELDS))
    console().print(table)


def job(pool: Pool, name: Job, as_json: AsJson = False) -> None:
    """What has become of a job, and what it waits for; exit status 1 if nobody knows it."""
    record, place, free = read(pool, lambda ledger: _story(ledger, name))
    if record is None:
        raise refused(f"{pool} knows no job {name}: it was never submitted, or ended long ago")
    why = reason(record, place, free)
    if as_json:
        typer.echo(orjson.dumps({**asdict(record), "why": why}, option=orjson.OPT_INDENT_2).decode())
    else:
        typer.echo(f"{name}: {record.state}, phase {record.phase} of {', '.join(record.phases)}\n  {why}")


def pod_pool(pool: Pool, as_json: AsJson = False, dry_run: DryRun = False) -> None:
    """Why a pod pool has the size that it has: the latest decision and what it was made from."""
    from workers.podpools.recording import recorded  # here: it needs what no other command does

    if dry_run:
        told = read(pool, lambda ledger: foreseen(ledger.pool))
        if told is None:
            raise refused(f"there is no such PodPool {pool}, or it is being deleted")
        typer.echo(orjson.dumps(asdict(told), option=orjson.OPT_INDENT_2) if as_json else "\n".join(lines(told)))
        return
    kept, seen = read(pool, lambda ledger: (recorded(ledger), view(ledger)))
    if kept is None:
        raise refused(f"nothing was decided about {pool} yet: there is no such PodPool, or no worker has seen it")
    slots = {pod.name: [job or "-" for job in pod.slots] for pod in seen.pods}
    if as_json:
        typer.echo(orjson.dumps({**asdict(kept), "pods": slots}, option=orjson.OPT_INDENT_2).decode())
        return
    typer.echo(f"{pool}: {kept.size} pods wanted, change {kept.change:+d}\n  {kept.reason}")
    for name, value in kept.seen.items():
        typer.echo(f"  {name}: {value}")
    table = Table("pod", "view", "slots")
    for each in seen.pods:
        table.add_row(each.name, each.view, " | ".join(slots[each.name]))
    console().print(table)


def known(ledger: SlotLedger) -> bool:
    """A worker has seen the pool, or there is something in its slots."""
    about = [f"{ledger.prefix}{name}" for name in ("jobs", "pods")]
    return ledger.pool in PodPoolNames(ledger.redis).all() or bool(ledger.redis.exists(*about))


def refused(why: str) -> typer.Exit:
    typer.echo(why, err=True)
    return typer.Exit(1)


def foreseen(pool: str) -> Foreseen | None:
    from workers.bootstrap import build  # here: it needs every client, which takes longer than most commands
    from workers.podpools.foreseeing import foresee

    settings = configured()
    kubernetes(settings)
    return foresee(build(settings).podpools, pool)


def lines(told: Foreseen) -> Iterator[str]:
    """In the order of a run."""
    if told.token:  # the pool is there
        yield f"reconcile: {', '.join(told.gone) or 'nothing'} is gone"
        yield from (f"health: {name}: {care}" for name, care in told.care)
        yield f"token: {told.token}"
    if told.problem:
        yield told.problem
        return
    yield f"scale: change {told.change:+d} to {told.size} pods: {told.reason}"
    yield f"  {told.create} pods are created, removed: {', '.join(told.remove) or 'none'}"
    if told.gone or told.care:
        yield "  as things stand now: after what comes before it, the run looks again"


def reason(record: JobRecord, place: Place, free: int) -> str:
    """In one line."""
    where = f"in slot {record.slot - 1} of pod {record.uid}"
    if record.state is JobState.WAITING:
        return _waiting(record, place, free)
    return {
        JobState.PLACED: f"{where}, attempt {record.attempt}: its runner has not started it yet",
        JobState.RUNNING: f"{where}, attempt {record.attempt}",
        JobState.RESERVED: f"{where}, which is kept until somebody confirms plan {record.plan}, or its time is over",
        JobState.CONFIRMED: f"{where}, waits for serial key {record.serial_key}, which {place.key or 'nobody'} has",
        JobState.CANCELLING: f"{where}: its runner was told to stop it",
        JobState.UNKNOWN: "from before Redis was lost: it counts once its runner, or its client, says it again",
        JobState.DONE: f"{record.outcome}: {record.result or 'no result'}",
    }[record.state]


def _waiting(record: JobRecord, place: Place, free: int) -> str:
    if place.key:
        return f"waits for serial key {record.serial_key}, which {place.key} has; {place.ahead} before it"
    if place.later:
        return "could not be sent to its pod: it is placed again in a moment"
    return f"waits for a slot that takes {', '.join(record.phases)}: {place.ahead} before it, {free} slots idle"


def _story(ledger: SlotLedger, name: str) -> tuple[JobRecord | None, Place, int]:
    record = ledger.record(name)
    idle = sum(not job for pod in view(ledger).pods if pod.view == "open" for job in pod.slots)
    return record, place_of(ledger, record) if record else Place(), idle


def read(pool: str, question: Callable[[SlotLedger], T]) -> T:
    """Asks the slots of a pool. Raises typer.Exit with what is wrong on standard error."""
    if pool.count("/") != 1 or not all(pool.split("/")):
        typer.echo("name the pod pool as NAMESPACE/POOL", err=True)
        raise typer.Exit(MISUSE)
    redis: Any = connect_state(configured().redis)
    try:
        return question(SlotLedger(redis, load_scripts(redis), pool))
    except (*OUTAGE, KubeError, Unconfigured) as error:
        raise refused(in_words(error)) from None
