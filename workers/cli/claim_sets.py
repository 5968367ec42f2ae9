"""`berthmaster explain claimset NAMESPACE/SET`: why a set of claims is in its state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.table import Table

from domain.claim_sets.decision import SetAction
from domain.claim_sets.reasons import some
from workers.cli.claims import ask, condition_lines, conditions
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
    """Show what a claim set has, what its next run does and why, and which claim a scale-in would remove first."""
    explanation = ask(name, "SET", _explanation)
    if explanation is None:
        raise refused(f"there is no PodClaimSet {name}")
    if as_json:
        say_json(document(explanation))
        return
    say(*lines(explanation))
    if explanation.claims:
        console().print(_table(explanation.claims))


def _explanation(parts: Services, namespace: str, name: str) -> ClaimSetExplanation | None:
    from workers.claim_sets.explain import explain_claim_set

    return explain_claim_set(parts.claimsets, parts.queue, namespace, name)


def document(explanation: ClaimSetExplanation) -> Json:
    """Return the explanation for `--json`."""
    step = {
        "do": explanation.step.action.value,
        "claims": explanation.step.names,
        "reason": explanation.why.word,
        "why": explanation.why.message,
    }
    summary = {
        "name": explanation.name,
        "wanted": explanation.wanted,
        "surge": explanation.surge,
        "first": explanation.first or "",
        "next": step,
    }
    rows = [asdict(row) | {"pod": row.pod or "", "revision": row.revision or ""} for row in explanation.claims]
    return summary | {"conditions": conditions(explanation.claim_set), "claims": rows, "run": explanation.run._asdict()}


def lines(explanation: ClaimSetExplanation) -> Iterator[str]:
    """Yield the explanation as lines for people."""
    status = explanation.claim_set.status
    counts = ", ".join(f"{status.get(key, 0)} {key}" for key in COUNTS) if status else "no worker has reconciled it yet"
    yield f"{explanation.name}: {explanation.wanted} wanted; {counts}"
    yield from condition_lines(explanation.claim_set)
    step = WORDS[explanation.step.action].format(names=some(explanation.step.names))
    yield f"  next: {step}: {explanation.why.message}; run: {run_in_words(explanation.run)}"
    if explanation.surge:
        yield f"  surge: {explanation.surge} more than wanted, while old ones are replaced"
    yield f"  scaling in would take {explanation.first or 'none, because claims that move or end are left alone'} first"


def _table(rows: tuple[SetClaimRow, ...]) -> Table:
    table = Table("claim", "phase", "pod", "its revision", "template", "ready", "cost", "left alone")
    for row in rows[:MOST_ROWS]:
        alone = "being deleted" if row.deleting else "moves" if row.moves else "-"
        cells = (row.claim, row.phase, row.pod or "-", row.revision or "-", "present" if row.current else "old")
        table.add_row(*(*cells, "yes" if row.ready else "no", str(row.cost), alone))
    if len(rows) > MOST_ROWS:
        table.add_row(f"... and {len(rows) - MOST_ROWS} more")
    return table
