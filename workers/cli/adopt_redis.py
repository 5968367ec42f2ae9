"""`berthmaster adopt-redis`: moves a Redis from one fleet to another, on purpose."""

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

From = Annotated[str, typer.Option("--from", metavar="FLEET", help="Whose it is now, as this command says without it")]
Trial = Annotated[bool, typer.Option("--dry-run", help="Say what is there and whether it can be done; change nothing")]
WHAT_FOLLOWS: Final = (
    "The old fleet must have ended. What this cluster lacks is given back: listeners of pods that it does not have are "
    "deleted in AWS"
)


def adopt_redis(owner: From = "", dry_run: Trial = False, as_json: AsJson = False) -> None:
    """Makes the Redis of another fleet this one's; exit status 1 if it is not the one that --from names."""
    from workers.wiring.process import fleet_of  # here: it knows every client, which take long to load

    settings = configured()
    heir, queue = fleet_of(settings), Workqueue(connect_state(settings.redis), hint_queue=routing.LATENCY)
    try:
        present = queue.owner()
        living = Counter(key.partition("/")[0] for key, entry in queue.known().items() if not entry.gone)
        why = why_not(present, heir, owner)
        if not why and present and not dry_run and not queue.adopt(present, heir):
            why = "another process changed whose it is meanwhile: look again"
    except OUTAGE as error:
        say(in_words(error), err=True)
        raise typer.Exit(1) from None
    record: dict[str, Any] = {"owner": str(present or ""), "fleet": str(heir), "has": dict(sorted(living.items()))}
    record |= {"done": not (why or dry_run), "why": why}
    say_json(record) if as_json else say(*in_lines(record, dry_run).splitlines())
    if why and present and not present.matches(heir):
        raise typer.Exit(1)


def why_not(present: Identity | None, heir: Identity, named: str) -> str:
    """'' if it can be moved."""
    if present is None:
        return "it belongs to no fleet: the publisher that claims it first makes it its own"
    if present.matches(heir):
        return "it is this fleet's already"
    if not named:
        return f"name the fleet that it is taken from: --from {present}"
    return "" if Identity.parse(named) == present else f"it does not belong to {named}"


def in_lines(record: dict[str, Any], dry_run: bool) -> str:
    has = ", ".join(f"{kind} {count}" for kind, count in record["has"].items()) or "nothing"
    lines = [
        f"This Redis belongs to {record['owner'] or 'no fleet'} and knows: {has}",
        f"This fleet is {record['fleet']}",
    ]
    if record["why"]:
        return "\n".join([*lines, record["why"]])
    return "\n".join([*lines, WHAT_FOLLOWS, "It could be done" if dry_run else "It is this fleet's now"])
