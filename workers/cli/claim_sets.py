"""`berthmaster explain claimset NAMESPACE/SET`: why a set of claims is as it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.table import Table

from domain.claim_sets.decision import SetAction
from domain.claim_sets.reasons import some
from workers.cli.claims import ask, conditions
from workers.cli.doctor import AsJson
from workers.cli.explain import MOST_ROWS, run_in_words
from workers.cli.jobs import refused
from workers.cli.output import console, say, say_json

if TYPE_CHECKING:
    from workers.claim_sets.explain import ClaimSetExplanation, SetClaimRow
    from workers.wiring.process import Services

Json = dict[str, Any]
Set = Annotated[str, typer.Argument(metavar="NAMESPACE/SET")]
WORDS: Final = {
    SetAction.CREATE: "makes {names}",
    SetAction.RECORD: "records that {names} go, and then removes them",
    SetAction.REMOVE: "removes {names}, as it is recorded",
    SetAction.SPARE: "keeps {names}",
    SetAction.REST: "nothing",
}
COUNTS: Final = ("replicas", "readyReplicas", "updatedReplicas")


def claimset(name: Set, as_json: AsJson = False) -> None:
    """What a set of claims has, what its next run does and why, and whom scaling in would take first."""
    told = ask(name, "SET", _story)
    if told is None:
        raise refused(f"there is no PodClaimSet {name}")
    if as_json:
        say_json(document(told))
        return
    say(*lines(told))
    if told.claims:
        console().print(_table(told.claims))


def _story(parts: Services, namespace: str, name: str) -> ClaimSetExplanation | None:
    from workers.claim_sets.explain import explain_claim_set

    return explain_claim_set(parts.claimsets, parts.queue, namespace, name)


def document(told: ClaimSetExplanation) -> Json:
    """The same for programs."""
    step = {"do": told.step.action.value, "claims": told.step.names, "reason": told.why.word, "why": told.why.message}
    seen = {"name": told.name, "wanted": told.wanted, "surge": told.surge, "first": told.first, "next": step}
    rows = [asdict(row) for row in told.claims]
    return seen | {"conditions": conditions(told.claim_set), "claims": rows, "run": told.run._asdict()}


def lines(told: ClaimSetExplanation) -> Iterator[str]:
    shown = told.claim_set.status
    counts = ", ".join(f"{shown.get(key, 0)} {key}" for key in COUNTS) if shown else "no worker has looked at it yet"
    yield f"{told.name}: {told.wanted} wanted; {counts}"
    for each in conditions(told.claim_set):
        yield f"  {each['type']}: {each['reason']}{', ' + each['message'] if each['message'] else ''}"
    step = WORDS[told.step.action].format(names=some(told.step.names))
    yield f"  next: {step}: {told.why.message}; run: {run_in_words(told.run)}"
    if told.surge:
        yield f"  surge: {told.surge} more than wanted, while old ones are replaced"
    yield f"  scaling in would take {told.first or 'none: who moves, or is being deleted, is left alone'} first"


def _table(rows: tuple[SetClaimRow, ...]) -> Table:
    table = Table("claim", "phase", "pod", "its revision", "template", "ready", "cost", "left alone")
    for row in rows[:MOST_ROWS]:
        alone = "being deleted" if row.deleting else "moves" if row.moves else "-"
        told = (row.claim, row.phase, row.pod or "-", row.revision or "-", "present" if row.current else "old")
        table.add_row(*(*told, "yes" if row.ready else "no", str(row.cost), alone))
    if len(rows) > MOST_ROWS:
        table.add_row(f"... and {len(rows) - MOST_ROWS} more")
    return table
