"""`berthmaster adopt-redis`: hand the Redis of one fleet over to another."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, Final

import typer

from berthmaster import routing
from berthmaster.redis.client import connect_state
from berthmaster.redis.identity import Identity
from berthmaster.redis.outage import OUTAGE
from events.workqueue import Workqueue
from workers.cli.configured import configured
from workers.cli.doctor import AsJson
from workers.cli.output import say, say_json
from workers.cli.troubles import in_words

From = Annotated[
    str,
    typer.Option(
        "--from", metavar="FLEET", help="The fleet that owns this Redis now; run the command without --from to see it"
    ),
]
Trial = Annotated[
    bool, typer.Option("--dry-run", help="Show what Redis holds and whether it can be adopted; change nothing")
]
WHAT_FOLLOWS: Final = (
    "Stop the old fleet first. This fleet releases what its cluster does not have: in AWS it deletes the "
    "listeners of pods that do not exist here"
)


def adopt_redis(owner: From = "", dry_run: Trial = False, as_json: AsJson = False) -> None:
    """Take over the Redis of another fleet. Exit status 1 if the fleet in --from does not own it."""
    from workers.wiring.process import fleet_of  # here: it knows every client, which take long to load

    settings = configured()
    heir, queue = fleet_of(settings), Workqueue(connect_state(settings.redis), hint_queue=routing.LATENCY)
    try:
        present = queue.owner()
        living = Counter(key.partition("/")[0] for key, entry in queue.stored_versions().items() if not entry.gone)
        why = why_not(present, heir, owner)
        if not why and present and not dry_run and not queue.adopt(present, heir):
            why = "another process changed the owner meanwhile: run this command again"
    except OUTAGE as error:
        say(in_words(error), err=True)
        raise typer.Exit(1) from None
    record: dict[str, Any] = {"owner": str(present or ""), "fleet": str(heir), "has": dict(sorted(living.items()))}
    record |= {"done": not (why or dry_run), "why": why}
    say_json(record) if as_json else say(*in_lines(record, dry_run).splitlines())
    if why and present and not present.matches(heir):
        raise typer.Exit(1)


def why_not(present: Identity | None, heir: Identity, named: str) -> str:
    """Return why this fleet cannot adopt the Redis, or '' if it can."""
    if present is None:
        return "it belongs to no fleet: the first publisher that starts takes it"
    if present.matches(heir):
        return "it belongs to this fleet already"
    if not named:
        return f"name the fleet that owns it now: --from {present}"
    return "" if Identity.parse(named) == present else f"it does not belong to {named}"


def in_lines(record: dict[str, Any], dry_run: bool) -> str:
    """Return the report as text for people."""
    has = ", ".join(f"{kind} {count}" for kind, count in record["has"].items()) or "nothing"
    lines = [
        f"This Redis belongs to {record['owner'] or 'no fleet'} and knows: {has}",
        f"This fleet is {record['fleet']}",
    ]
    if record["why"]:
        return "\n".join([*lines, record["why"]])
    return "\n".join([*lines, WHAT_FOLLOWS, "It could be adopted" if dry_run else "It belongs to this fleet now"])
